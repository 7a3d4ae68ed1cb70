// Declares how the operations and types of atom, red and the reductions of copies are read from their
// modifiers.
#pragma once
#include <triton_runner/ptx/module.h>

#include "ops/atomic.h"

namespace triton_runner::simt {

// The operation (.add, .min, ..., .cas, .exch) among an instruction's modifiers; kNone if there is none.
ptx::Mod operation_of(const ptx::Instruction& in);
AtomicOp atomic_op(ptx::Mod operation);
Updates find_update(ptx::Mod operation, ptx::Mod type);

}  // namespace triton_runner::simt
