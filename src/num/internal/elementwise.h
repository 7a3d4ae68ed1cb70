// Runs elementwise ops on contiguous tiles: one object a functor, one kernel an element type and instruction
// set.
//
// Look a kernel up once, at lowering time, and run it many times:
//   Kernel k = elementwise_addf.kernel(Type::kF32, Type::kF32);
//   const void* in[] = {x, y};
//   k.run(out, in, /*splat=*/0b10, n);   // y is one element for all
// Results are the same bits on every instruction set, except that which NaN an arithmetic op gives is not
// defined.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include <triton_runner/num/functors.h>
#include <triton_runner/num/types.h>

namespace triton_runner::num {

// Runs over n contiguous elements. Arity says which of a, b, c are read.
using Loop = void (*)(void* out, const void* a, const void* b, const void* c, int64_t n);

struct Kernel {
  Loop loop = nullptr;
  uint8_t arity = 0;
  uint8_t out_size = 0;  // bytes an element
  uint8_t in_size[3] = {};

  explicit operator bool() const { return loop != nullptr; }
  // Bit i of `splat`: operand i is one element that stands for all n. `out` may be an operand of the same
  // element size.
  void run(void* out, const void* const* in, uint32_t splat, int64_t n) const;
};

// One loop for the difference of two f32 and its exp or exp2: out = exponential(difference(a, b)). Null for
// other loops. The bits are those of the two.
Loop chain_loops(Loop difference, Loop exponential);

// The loop of an f32 op (or of chain_loops) with one element as b, for all of a: the same bits. Null for most
// loops.
Loop loop_by_one(Loop loop);

struct Elementwise {
  std::string_view name;
  Functor id;
  uint8_t arity;

  // The kernel for operands of type `in` (of select: the values' type; its condition is i1) and results of
  // type `out` (i1 for comparisons); see functors.h. Empty where the op does not take these types.
  Kernel kernel(Type in, Type out) const { return kernel(in, out, current_isa()); }
  Kernel kernel(Type in, Type out, Isa isa) const;
};

#define TRITON_RUNNER_DECLARE(name, arity) extern const Elementwise elementwise_##name;
TRITON_RUNNER_ELEMENTWISE(TRITON_RUNNER_DECLARE)
#undef TRITON_RUNNER_DECLARE

// By MLIR's predicate numbers: cmpi eq ne slt sle sgt sge ult ule ugt uge; cmpf false oeq ogt oge olt ole one
// ord ueq ugt uge ult ule une uno true.
extern const Elementwise* const elementwise_cmpi[10];
extern const Elementwise* const elementwise_cmpf[16];

// The functor behind a libdevice (or OCML) symbol of tt.extern_elementwise:
// "__nv_asinf", "__ocml_asin_f32". Null if we have none. The kernel's types
// are those of the op. Predicates (isnan, ...) also come with result type i32.
const Elementwise* find_extern(std::string_view symbol);
std::span<const std::string_view> extern_symbols();  // for "did you mean" notes

const Elementwise* find_elementwise(std::string_view name);  // "addf"; null if there is none

}  // namespace triton_runner::num
