// Declares what fused instructions stream tiles through, besides the loops of single ops: linked ops,
// reductions in parts. Each instruction set has its own.
#pragma once
#include <triton_runner/num/links.h>

#include "simd/tables.h"

namespace triton_runner::num {

using ReducePartFn = void (*)(void* out, void* state, const void* in, int64_t n, bool first, bool last);
using ReducePaddedFn = void (*)(void* out, const void* in, int64_t n, int64_t axis, const void* pad);

// Linked ops: links.h. find_exp_of_difference: the f32 exp or exp2 of a - b, null for other loops.
// find_by_one, find_exp_by_one: the same with one element as b, null for most loops.
// find_reduce_part, find_reduce_padded: as reduce_part_fn and reduce_padded_fn of reduce.h.
#define NUM_DECLARE_STREAMS(isa)                                                                      \
  namespace isa {                                                                                     \
  void map_links(float* out, const float* x, const Link* links, size_t count, int64_t n);             \
  void map_links_past_caches(float* out, const float* x, const Link* links, size_t count, int64_t n); \
  void sum_links(float* out, void* state, const float* x, const Link* links, size_t count, int64_t n, \
                 bool first, bool last);                                                              \
  Loop find_exp_of_difference(Loop exponential);                                                      \
  Loop find_exp_by_one(Loop exponential_of_difference);                                               \
  Loop find_by_one(Loop loop);                                                                        \
  ReducePartFn find_reduce_part(ReduceOp op, Type type);                                              \
  ReducePaddedFn find_reduce_padded(ReduceFn reduce);                                                 \
  }
NUM_DECLARE_STREAMS(portable)
#if defined(__x86_64__)
NUM_DECLARE_STREAMS(avx2)
NUM_DECLARE_STREAMS(avx512)
#endif
#undef NUM_DECLARE_STREAMS

}  // namespace triton_runner::num
