// Declares barriers of a block, of a cluster and of a warp.
#pragma once
#include "state/exec.h"

namespace triton_runner::simt {

// a: the barrier, b: how many threads (none: all).
void bar_sync(Exec& x, const Operands& in);
void bar_arrive(Exec& x, const Operands& in);
enum BarrierVote : int64_t { kCount, kAll, kAny };
// The same, d: the result, c: the predicate (small: 0xff to negate it), imm: a BarrierVote.
void bar_red(Exec& x, const Operands& in);
void cluster_arrive(Exec& x, const Operands& in);
void cluster_wait(Exec& x, const Operands& in);
void warp_sync(Exec& x, const Operands& in);  // a: the members (none: all)
void nothing(Lanes& l, const Operands& in);

}  // namespace triton_runner::simt
