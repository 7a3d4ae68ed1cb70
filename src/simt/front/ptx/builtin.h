// Declares the functions that the CUDA runtime gives to every kernel: vprintf and __assertfail. CUDA C++
// programming guide, "Formatted output", "Assertion".
#pragma once
#include "front/ptx/lower.h"

namespace triton_runner::simt {

// Their arguments and result: offsets in the thread's local memory, or registers.
struct BuiltinCall {
  uint32_t args[5];
  uint32_t result = kNoRegister;
  bool in_registers = false;
};
// The number of one, from 0; -1: there is none of that name.
int builtin_number(std::string_view name);
// The builtin whose number, under kFunctionWindow, is in the 64 bits of `a`, the same for all threads; data: a BuiltinCall
// that suits each of them.
void call_builtin(Exec& x, const Operands& in);

bool is_builtin(const ptx::Function& function);
bool lower_builtin(Lowering& l, const ptx::Instruction& in, const ptx::Function& function,
                   std::span<const ptx::Operand> returns, std::span<const ptx::Operand> args);

}  // namespace triton_runner::simt
