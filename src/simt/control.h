// Branches, calls and the end of threads: what handlers elsewhere need of them.
#pragma once
#include "exec.h"

namespace triton_runner::simt {

// Addresses of functions: this window and the function's place in Module::functions().
inline constexpr uint64_t kFunctionWindow = uint64_t{0x72} << 56;
uint64_t function_index(const ptx::Module& module, const ptx::Function& function);

// The threads that are on end here.
void end_thread(Lanes& l, const Operands& in);

}  // namespace triton_runner::simt
