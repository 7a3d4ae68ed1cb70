// Declares how paths split, merge, wait and end. Which path runs next is in turns.h for machine code, in
// launch/run.cpp for PTX.
#pragma once
#include "state/exec.h"

namespace triton_runner::simt {

// The threads that are on become a path of their own at `pc`, the others of x's path stay; the scheduler
// takes over. Not all threads of the path are on.
void split(Exec& x, const Instr* pc);
// A further path of threads of x's path: mask[i] of thread first + i.
Path& add_path(Exec& x, const int8_t* mask, const Instr* pc);
// x's path goes on with the threads that are off; without any it is over. The scheduler takes over.
void keep_others(Exec& x);
// Threads that are off because of the instruction's guard go on after it, so that the path can wait with
// the rest.
void pass_guarded(Exec& x, const Instr& in);
// The path waits at `in`, to be called again there.
void park(Exec& x, const Instr& in, PathState state);
// The threads that are on end.
void end_lanes(Exec& x);

// Takes `b` into `a`, which has the same pc; `b` is over.
void merge(Cta& cta, Path& a, Path& b);
// Returns whether the two, which have the same pc, may become one: in a shuffled launch each warp goes its
// own way.
bool may_merge(const Cta& cta, const Path& a, const Path& b);
// All threads of the block in one path (in a shuffled launch: in one a warp) at the first instruction.
void begin_paths(Cta& cta);

// Gives what waits for threads that will never come another look.
void recheck(Cta& cta);
// A warp's threads get no turn until they are thawed; they become paths of their own. False: none of them is alive.
bool freeze_warp(Cta& cta, uint32_t warp, bool on);
// bar.sync: `count` threads arrive (0: as many as live). True: the barrier is complete, and all who waited in
// it are ready after it.
bool arrive(Cta& cta, uint32_t barrier, uint32_t threads, uint32_t expected);
// "warps 0 to 3", "warp 2 (5 threads)"; of AMD's code "waves 0 to 3".
std::string threads_of(const Path& path, const Code& code);
// Threads that are on, and the first of them (there is one).
uint32_t count_on(const Lanes& l);
uint32_t first_on(const Lanes& l);

}  // namespace triton_runner::simt
