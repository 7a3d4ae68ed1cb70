// Declares the functions that the CUDA runtime gives to every kernel: vprintf, __assertfail, malloc, free and
// cudaGraphSetConditional. CUDA C++ programming guide, "Formatted output", "Assertion", "Dynamic global memory allocation".
#pragma once
#include "front/ptx/lower.h"

namespace triton_runner::simt {

// Their arguments and result: offsets in the thread's frame, or registers.
struct BuiltinCall {
  uint32_t args[5];
  uint32_t frame = kNoRegister;  // the place of the frame that the offsets are in
  uint32_t result = kNoRegister;
  uint32_t upper = kNoRegister;  // in registers: that of a result's upper 32 bits
  bool in_registers = false;
};
// The number of one, from 0; -1: there is none of that name.
int builtin_number(std::string_view name);
// The builtin whose number, under kFunctionWindow, is in the 64 bits of `a`, the same for all threads; data: a BuiltinCall
// that suits each of them.
void call_builtin(Exec& x, const Operands& in);

std::string builtin_names();  // for messages
bool is_builtin(const ptx::Function& function);
bool lower_builtin(Lowering& l, const ptx::Instruction& in, const ptx::Function& function,
                   std::span<const ptx::Operand> returns, std::span<const ptx::Operand> args);

}  // namespace triton_runner::simt
