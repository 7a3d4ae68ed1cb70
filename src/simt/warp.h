// What instructions with a membermask have in common.
#pragma once
#include "exec.h"

namespace triton_runner::simt {

// The lanes that are on of the warp that begins `first` lanes after the path's first: bit i is lane i.
uint32_t warp_bits(const Lanes& x, uint32_t first);
// Whether every thread that is on has all the threads of its membermask (a .b32 register) beside it. If not,
// the path waits or splits, and the handler has to return.
bool warps_converged(Exec& x, const Instr& in, uint32_t members);

}  // namespace triton_runner::simt
