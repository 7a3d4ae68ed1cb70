// What instructions that stream tiles through the caches need besides the loops of single ops.
#pragma once
#include "simd/tables.h"

namespace triton_runner::num {

using ReducePartFn = void (*)(void* out, void* state, const void* in, int64_t n, bool first, bool last);

// find_chain: as chain_loops of elementwise.h. find_exp_of_difference: the f32 exp or exp2 of a - b, null for
// other loops. find_reduce_part: as reduce_part_fn of reduce.h.
#define NUM_DECLARE_STREAMS(isa)                         \
  namespace isa {                                        \
  Loop find_chain(Loop first, Loop then, bool right);    \
  Loop find_exp_of_difference(Loop exponential);         \
  ReducePartFn find_reduce_part(ReduceOp op, Type type); \
  }
NUM_DECLARE_STREAMS(portable)
#if defined(__x86_64__)
NUM_DECLARE_STREAMS(avx2)
NUM_DECLARE_STREAMS(avx512)
#endif
#undef NUM_DECLARE_STREAMS

}  // namespace triton_runner::num
