// Elementwise ops on contiguous tiles: one object a functor, one kernel an element type and instruction set.
//
// Look a kernel up once, at lowering time, and run it many times:
//   Kernel k = elementwise_addf.kernel(Type::kF32, Type::kF32);
//   const void* in[] = {x, y};
//   int64_t bad = k.run(out, in, /*splat=*/0b10, n);   // y is one element for all
// Results are the same bits on every instruction set, except that which NaN an arithmetic op gives is not defined.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include <triton_runner/num/types.h>

namespace triton_runner::num {

// Runs over n contiguous elements; -1, or the index of the first element that has no result (division by zero: every
// other element is still computed, the bad ones are 0). Arity says which of a, b, c are read.
using Loop = int64_t (*)(void* out, const void* a, const void* b, const void* c, int64_t n);

struct Kernel {
  Loop loop = nullptr;
  uint8_t arity = 0;
  uint8_t out_size = 0;       // bytes an element
  uint8_t in_size[3] = {};

  explicit operator bool() const { return loop != nullptr; }
  // Bit i of `splat`: operand i is one element that stands for all n. `out` may be an operand of the same element size.
  // Returns as Loop does.
  int64_t run(void* out, const void* const* in, uint32_t splat, int64_t n) const;
};

struct Elementwise {
  std::string_view name;
  uint16_t id;
  uint8_t arity;

  // The kernel for operands of type `in` (of select: the values' type; its condition is i1) and results of type `out`
  // (i1 for comparisons). Empty where the op does not take these types.
  Kernel kernel(Type in, Type out) const { return kernel(in, out, current_isa()); }
  Kernel kernel(Type in, Type out, Isa isa) const;
};

// Every functor: X(name, arity). Floats are f16, bf16, f32, f64 (arithmetic, comparisons and select also take the fp8
// types, through f32). Integers are i1 .. i64 and pointers.
#define TRITON_RUNNER_ELEMENTWISE(X)                                                                           \
  /* integers; i1 arithmetic is modulo 2; shifts by the width or more give 0, shrsi the sign (PTX clamps) */    \
  X(addi, 2) X(subi, 2) X(muli, 2) X(andi, 2) X(ori, 2) X(xori, 2) X(shli, 2) X(shrsi, 2) X(shrui, 2)           \
  X(maxsi, 2) X(maxui, 2) X(minsi, 2) X(minui, 2) X(absi, 1) X(mulhiui, 2) X(mulhisi, 2)                        \
  /* division: a zero divisor is reported; the smallest integer / -1 wraps, its remainder is 0 */               \
  X(divsi, 2) X(divui, 2) X(remsi, 2) X(remui, 2) X(ceildivsi, 2) X(ceildivui, 2) X(floordivsi, 2)              \
  X(ctpop, 1) X(ctlz, 1) X(cttz, 1)                                                                            \
  X(cmpi_eq, 2) X(cmpi_ne, 2) X(cmpi_slt, 2) X(cmpi_sle, 2) X(cmpi_sgt, 2) X(cmpi_sge, 2) X(cmpi_ult, 2)        \
  X(cmpi_ule, 2) X(cmpi_ugt, 2) X(cmpi_uge, 2)                                                                 \
  /* floats; maxnumf, minnumf ignore a NaN operand, maximumf, minimumf propagate it; -0 < +0 in all four */      \
  X(addf, 2) X(subf, 2) X(mulf, 2) X(divf, 2) X(remf, 2) X(negf, 1) X(absf, 1) X(fma, 3)                        \
  X(maxnumf, 2) X(minnumf, 2) X(maximumf, 2) X(minimumf, 2)                                                    \
  /* clampf(x, min, max): a NaN x gives min / stays NaN */                                                      \
  X(clampf_none, 3) X(clampf_all, 3) X(copysign, 2)                                                            \
  X(cmpf_false, 2) X(cmpf_oeq, 2) X(cmpf_ogt, 2) X(cmpf_oge, 2) X(cmpf_olt, 2) X(cmpf_ole, 2) X(cmpf_one, 2)    \
  X(cmpf_ord, 2) X(cmpf_ueq, 2) X(cmpf_ugt, 2) X(cmpf_uge, 2) X(cmpf_ult, 2) X(cmpf_ule, 2) X(cmpf_une, 2)      \
  X(cmpf_uno, 2) X(cmpf_true, 2)                                                                               \
  X(select, 3) /* of every type */                                                                             \
  /* casts: (in, out) are the types; index is i64 */                                                           \
  X(extsi, 1) X(extui, 1) X(trunci, 1) X(index_cast, 1) X(index_castui, 1) X(bitcast, 1)                        \
  X(sitofp, 1) X(uitofp, 1) X(fptosi, 1) X(fptoui, 1)                                                          \
  X(extf, 1) X(truncf, 1) X(fp_to_fp_rtne, 1) X(fp_to_fp_rtz, 1) /* between any two float types */             \
  /* math; errors: doc/numerics.md */                                                                          \
  X(exp, 1) X(exp2, 1) X(expm1, 1) X(log, 1) X(log2, 1) X(log10, 1) X(log1p, 1) X(sin, 1) X(cos, 1) X(tan, 1)   \
  X(sqrt, 1) X(rsqrt, 1) X(cbrt, 1) X(erf, 1) X(tanh, 1) X(floor, 1) X(ceil, 1) X(trunc, 1) X(round, 1)         \
  X(roundeven, 1) X(asin, 1) X(acos, 1) X(atan, 1) X(sinh, 1) X(cosh, 1) X(asinh, 1) X(acosh, 1) X(atanh, 1)    \
  X(erfc, 1) X(lgamma, 1) X(tgamma, 1) X(atan2, 2) X(powf, 2) X(hypot, 2)                                       \
  X(isnan, 1) X(isinf, 1) X(isfinite, 1) X(signbit, 1)

#define TRITON_RUNNER_DECLARE(name, arity) extern const Elementwise elementwise_##name;
TRITON_RUNNER_ELEMENTWISE(TRITON_RUNNER_DECLARE)
#undef TRITON_RUNNER_DECLARE

// By MLIR's predicate numbers: cmpi eq ne slt sle sgt sge ult ule ugt uge; cmpf false oeq ogt oge olt ole one ord ueq
// ugt uge ult ule une uno true.
extern const Elementwise* const elementwise_cmpi[10];
extern const Elementwise* const elementwise_cmpf[16];

// The functor behind a libdevice (or OCML) symbol of tt.extern_elementwise: "__nv_asinf", "__ocml_asin_f32". Null if we
// have none. The kernel's types are those of the op. Predicates (isnan, ...) also come with result type i32.
const Elementwise* find_extern(std::string_view symbol);
std::span<const std::string_view> extern_symbols();  // for "did you mean" notes

const Elementwise* find_elementwise(std::string_view name);  // "addf"; null if there is none

}  // namespace triton_runner::num
