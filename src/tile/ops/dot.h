// Declares what tt.dot and the tensor-core ops share of matrix products: operand views, element types,
// accumulators.
#pragma once
#include <cstddef>
#include <optional>

#include <triton_runner/ir/enums.h>
#include <triton_runner/num/dot.h>

#include "lowering.h"

namespace triton_runner::tile {

// The tile of rank 2 (or matrix `batch` of one of rank 3) with the strides it has; `as` is how its
// elements are read.
num::MatrixView matrix_view(Task& t, Slot tile, num::Type as, int64_t batch = 0);

// How operands of this type are read under inputPrecision: f32 rounds to tf32 where that is asked for.
num::Type dot_operand_type(num::Type element, ir::InputPrecision precision);

// How a dot or an op of the tensor cores multiplies f32.
ir::InputPrecision input_precision(const ir::Op& op);

// tf32x3, bf16x3 and bf16x6, which multiply f32 in parts (dot_split.cpp).
bool is_split(ir::InputPrecision precision);
void lower_split_dot(Lowering& l, const ir::Op& op, ir::InputPrecision precision);

// Result 0's elements, holding operand `c`'s (zeros if !keep): c's own buffer if c dies here.
void* dot_accumulator(Task& t, const Instr& in, uint32_t c_operand, bool keep = true);

// Returns whether it is a tt.dot of matrices whose operands 0 and 1 a fused instruction may load.
bool can_load_operands(const Instr& dot);
// Makes a dot load its operand `side` (0 or 1) itself, straight from global memory where the load is one
// block of it. `slots` are the dot's, and change; `load` is an instruction of emit_load, which then has to
// go. Of two loads, the one that runs first is given first.
void load_operand(Lowering& l, Instr& dot, std::vector<Slot>& slots, uint32_t side, const Instr& load,
                  const std::vector<Slot>& load_slots);

// Makes the dot's accumulator `whole` times `column`, a matrix whose columns are all the same one.
bool can_scale_accumulator(const Instr& dot);
void scale_accumulator(Lowering& l, Instr& dot, std::vector<Slot>& slots, Slot whole, Slot column);
// How the dot reads its factor `side` (0 or 1) if each run makes it f32; null: it is used as it is, or may
// not be (mma="fast" wants bf16).
std::optional<num::Type> narrow_factor(const Instr& dot, uint32_t side);
// The instruction that does so ahead of it: its operand is the factor, its result what take_widened takes.
Instr widening(Lowering& l, const Instr& dot, num::Type as);
void take_widened(Lowering& l, Instr& dot, std::vector<Slot>& slots, uint32_t side, Slot wide);
// Every such product whose result only a dot uses becomes part of it, and factors that do not change in a
// loop are widened before it (fuse_dots.cpp).
void fuse_dots(Lowering& l);

// Returns whether multiply_accumulate takes operands and an accumulator of these types.
bool dot_types_ok(num::Type a, num::Type b, num::Type c);

// c [m, n] += a [m, k] * b [k, n]; c of type f32, f16, f64 or i32. mma="fast" may take the bf16 instructions.
// `start` is for f32 that is multiplied exactly.
void multiply_accumulate(Task& t, void* c, int64_t ldc, num::Type c_type, num::MatrixView a,
                         num::MatrixView b, int64_t m, int64_t n, int64_t k, num::DotStart start = {},
                         const num::Ahead* ahead = nullptr);

// Says what a copy of `tile`'s type to shared memory will read in the next iteration of a loop: the next product of f32
// fetches it. `last`, whose value nobody else wants, remembers where this copy read.
void foresee_copy(Task& t, Slot tile, Slot pointers, int64_t mask, Slot last);

// One operand of a scaled product: its elements, each times the scale of its group of k.
struct ScaledSide {
  num::Type element;
  bool packed_k;  // two e2m1 a byte: along k, or along the other dimension
  bool k_first;   // the tile is [k, outer] (b), not [outer, k] (a)
  int64_t outer, k;
  int scale;             // operand of the scales [outer, k / group]; -1: none
  num::Type scale_type;  // e8m0 (i8 carries it), or f8E4M3FN
  int64_t group;
};
// As f32, row-major in the tile's own order; `out` has outer * k elements, scales may be null.
void widen_scaled(const ScaledSide& side, const void* data, const std::byte* scales, float* out);
// "e2m1", "e4m3", ... of an op's element type attribute.
std::optional<num::Type> scaled_element(const ir::Attr* attr);

}  // namespace triton_runner::tile
