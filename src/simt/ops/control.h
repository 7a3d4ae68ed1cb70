// Declares branches and the end of threads.
#pragma once
#include "state/exec.h"

namespace triton_runner::simt {

// Addresses of functions: this window and the function's number.
inline constexpr uint64_t kFunctionWindow = uint64_t{0x72} << 56;

void branch(Lanes& l, const Operands& in);  // to the Instr `data`
// The same where all between the two only computes, loads and stores, and paths of one warp meet at `data`. Threads that do not
// jump run it under a mask, and the path stays one: which of a warp's groups runs first, nobody can tell.
void branch_over(Lanes& l, const Operands& in);
struct BranchTable {
  std::vector<const Instr*> targets;
  uint64_t flags = 0;  // that every index has (kFunctionWindow)
};
// a: the index of each thread into the table (small: its bytes); every thread goes its way.
void branch_table(Exec& x, const Operands& in, const BranchTable& table);
void trap_here(Exec& x, const Operands& in);
void end_thread(Lanes& l, const Operands& in);  // the threads that are on end here
// The same where all between here and the end of the others, `data`, only computes, loads and stores: they end together.
void end_over(Lanes& l, const Operands& in);

}  // namespace triton_runner::simt
