// Read-modify-write of one element, as functions: for atom, red and the reductions of the copy engine.
#pragma once
#include <cstdint>

#include <triton_runner/ptx/module.h>

namespace triton_runner::simt {

// Combines the element at `at` (aligned to its size) with `value` and gives what was there. `compare` is for
// .cas only.
using Update = uint64_t (*)(void* at, uint64_t value, uint64_t compare);

struct Updates {
  Update shared = nullptr;  // nobody else is running
  Update global = nullptr;  // atomic among our worker threads
};
// Of the operation (.add, .min, ..., .cas, .exch) on elements of `type` up to 64 bits; nulls: there is none.
Updates find_update(ptx::Mod operation, ptx::Mod type);
// The operation among an instruction's modifiers; kNone if there is none.
ptx::Mod operation_of(const ptx::Instruction& in);

}  // namespace triton_runner::simt
