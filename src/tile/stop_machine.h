// Shows what a debugger sees around a task that stands: the other tasks, barriers, copies, buffers.
#pragma once
#include <string>
#include <vector>

#include <triton_runner/exec/stopper.h>

#include "task.h"

namespace triton_runner::tile {

std::vector<std::string> tasks_of(const Task& here, const Instr& at);
std::vector<exec::StoppedBarrier> barriers_of(Task& here);
std::vector<std::string> copies_of(const Program& program);
std::byte* shared_bytes_of(Program& program, uint64_t at, uint64_t bytes);
// "f16 at 0x7f..., shape 64 x 64, strides 64 x 1"
std::string descriptor_text(Task& task, Slot slot, const ir::Type& type);

}  // namespace triton_runner::tile
