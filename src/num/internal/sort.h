// Runs stages of sorting networks over contiguous elements in place: tl.sort and tl.topk are made of them.
#pragma once
#include <cstddef>
#include <cstdint>

#include <triton_runner/num/type.h>

namespace triton_runner::num {

// Element i meets element i ^ distance. Ascending, the lower one becomes b if a > b else a, and the upper one
// b if b > a else a (a is the lower, b the upper); descending, a if a > b else b, and a if b > a else b. So a
// NaN and zeros of both signs do what selects on these comparisons do.
struct SortStage {
  uint32_t distance;  // a power of two
  uint32_t flip;      // a power of two, or 0: elements with this bit in their index turn the direction round
  bool descending;    // the direction where the bit is not set
};

// n is a multiple of 2 * distance of every stage. Null for types without it: f16, bf16 and narrower floats.
// kI8 .. kI64 compare as is_signed says.
using SortFn = void (*)(void* elements, int64_t n, const SortStage* stages, size_t count);
SortFn sort_fn(Type type, bool is_signed);

}  // namespace triton_runner::num
