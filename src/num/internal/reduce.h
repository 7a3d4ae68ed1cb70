// Reduces and scans along the middle axis of a contiguous [outer, axis, inner] view.
//
// Order: integers, max, min are exact in any order. Float sums and products have one fixed order, the same on
// every instruction set: for inner == 1, element i goes to accumulator i mod 64 (ascending, so a sequential
// sum in each); the 64 accumulators are then folded in halves (j with j + 32, + 16, ... + 1); fewer than 64
// elements fold with the missing ones left out. For inner > 1 each column is one sequential sum down the
// axis. f16 and bf16 accumulate in f32 and round once at the end: Triton's own f16 sums promote to f32 in the
// frontend, so that this is only seen in hand-written IR. Their scans carry f32 and round each result.
// Scans are sequential, except for f32 and f64 sums and products where inner == 1: groups of eight elements,
// from the end where the scan starts, each in steps of distance 1, 2, 4 (element i becomes op(element i - d,
// element i), all at once), and then op(last result of the group before, element).
#pragma once
#include <cstdint>

#include <triton_runner/num/reduce_ops.h>
#include <triton_runner/num/types.h>

namespace triton_runner::num {

// out [outer, inner]. axis >= 1.
using ReduceFn = void (*)(void* out, const void* in, int64_t outer, int64_t axis, int64_t inner);
// out as `in` (and may be `in`): inclusive scan, from the far end if reverse. Sequential: each element is
// op(previous result, element).
using ScanFn = void (*)(void* out, const void* in, int64_t outer, int64_t axis, int64_t inner, bool reverse);
// Both null where the op does not take the type.
ReduceFn reduce_fn(ReduceOp op, Type type);
ScanFn scan_fn(ReduceOp op, Type type);

// A reduction of one row that comes in parts, in order: all but the last have a multiple of 64 elements.
// `state`, of kReduceStateBytes, belongs to it from the first part to the last, which sets the one element
// `out` to what `reduce` gives for the whole row. Null where there is none: sums and products of f32 and f64,
// and sums of i32 and i64 have one.
inline constexpr int64_t kReduceStateBytes = 512;
using ReducePartFn = void (*)(void* out, void* state, const void* in, int64_t n, bool first, bool last);
ReducePartFn reduce_part_fn(ReduceOp op, Type type);

// One row of `axis` elements of which those from `n` on are all `*pad`: `out` is what `reduce` gives for it.
// Null where there is none: sums, products, maxima and minima of f32 and f64 have one.
using ReducePaddedFn = void (*)(void* out, const void* in, int64_t n, int64_t axis, const void* pad);
ReducePaddedFn reduce_padded_fn(ReduceFn reduce);

// Triton's argmax / argmin: (value, index) pairs folded along the axis with
//   take the left pair if left.value > right.value (argmin: <), or, with tie_break_left, if the values are
//   equal and left.index < right.index; otherwise the right pair.
// Indices are i32. A NaN compares false, as in the combine function. Folded left to right; a column with a
// NaN, where the order shows, in halves (i with i + n / 2, an odd last one as it is), as a GPU does.
using ArgReduceFn = void (*)(void* out_values, int32_t* out_indices, const void* values,
                             const int32_t* indices, int64_t outer, int64_t axis, int64_t inner,
                             bool tie_break_left);
ArgReduceFn arg_reduce_fn(ArgOp op, Type type);

}  // namespace triton_runner::num
