// Snapshots let a debugger resume a program from an earlier point.
#pragma once
#include <memory>

#include "task.h"

namespace triton_runner::tile {

// The task's program as it stands before `in`: tiles are shared with it, and copied when they are written to. Null: it
// cannot be kept.
std::shared_ptr<exec::Snapshot> snapshot_of(Task& task, const Instr& in);
// Makes the program what Program::restored says, which it takes.
void restore_program(Program& program);

}  // namespace triton_runner::tile
