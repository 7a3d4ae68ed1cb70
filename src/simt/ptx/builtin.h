// Functions that the CUDA runtime gives to every kernel: vprintf and __assertfail. CUDA C++ programming
// guide, "Formatted output", "Assertion".
#pragma once
#include "ptx/lower.h"

namespace triton_runner::simt {

bool is_builtin(const ptx::Function& function);
bool lower_builtin(Lowering& l, const ptx::Instruction& in, const ptx::Function& function,
                   std::span<const ptx::Operand> returns, std::span<const ptx::Operand> args);

}  // namespace triton_runner::simt
