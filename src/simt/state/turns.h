// Decides which of a warp's paths runs in machine code, where a warp that has parted keeps one uniform
// datapath, so that the order decides what its threads read there.
//
//   @P0 BRA `(.L_2)     lanes 0 to 4 jump, lanes 5 to 31 go on: the five run first, to the end, to BSYNC or to YIELD
//
// The rules were found on an H200 (tests/gpu/paths.py compares them with a GPU):
// - Where a warp parts, the smaller group runs first; of equal ones the one that does not jump.
// - It runs until it ends, waits (BSYNC) or gives its turn away (YIELD). Then the group runs that parted last and has not
//   run since; without one, the group that has waited longest.
// - Who has given its turn away is not waited for in BSYNC. A region that is left so is over for all who entered it.
// - Groups become one in BSYNC, and where one gets its turn at the instruction at which another has given its turn away.
#pragma once
#include "state/exec.h"

namespace triton_runner::simt {

// A branch to `target` for the threads that are on; not all of the path are. Warps that part get two paths each.
void part_warps(Exec& x, const Instr* target);
// YIELD: the path waits until the other paths of its warp had their turns.
void yield_turn(Exec& x, const Operands& in);
// Marks the paths whose turn it is (Path::has_turn), of those for which is_ready() holds or which wait for the paths of their
// own warp.
void give_turns(Cta& cta, bool (*is_ready)(const Cta&, const Path&));

}  // namespace triton_runner::simt
