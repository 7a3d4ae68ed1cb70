// Declares what places the variables of a module in memory, and what reads them again for a case.
#pragma once
#include <functional>
#include <map>
#include <string>

#include <triton_runner/artifact/cubin_kernel.h>
#include <triton_runner/base/result.h>

#include "state.h"

namespace triton_runner::driver {

// Places the variables of the module's PTX, with their initial values.
void place_variables(Module& module);
// Places those of a cubin that the kernel sees; other kernels of the cubin share them.
void place_variables(Module& module, const artifact::CubinKernel& kernel);

using Contents = std::map<std::string, std::string, std::less<>>;  // bytes of variables, by name
Contents contents_of(const Module& module);
// The module's text or machine code, in which its variables begin with `held`. Fails where one holds an address that
// code cannot give it.
base::Result<std::string> code_with(const Module& module, const Contents& held);

}  // namespace triton_runner::driver
