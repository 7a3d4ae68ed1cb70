// Barriers of a block, of a cluster and of a warp.
#pragma once
#include "exec.h"

namespace triton_runner::simt {

// a: the barrier, b: how many threads (none: all).
void bar_sync(Lanes& l, const Operands& in);
void bar_arrive(Lanes& l, const Operands& in);
enum BarrierVote : int64_t { kCount, kAll, kAny };
// The same, d: the result, c: the predicate (small: 0xff to negate it), imm: a BarrierVote.
void bar_red(Lanes& l, const Operands& in);
void cluster_arrive(Lanes& l, const Operands& in);
void cluster_wait(Lanes& l, const Operands& in);
void warp_sync(Lanes& l, const Operands& in);  // a: the members (none: all)
void nothing(Lanes& l, const Operands& in);

}  // namespace triton_runner::simt
