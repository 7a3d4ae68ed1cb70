// Finds a kernel of AMD's machine code by its name.
#pragma once
#include <triton_runner/amdgcn/text.h>

namespace triton_runner::probe {

// Errors: the module has no such kernel.
base::Result<const amdgcn::Kernel*> amd_kernel(const amdgcn::Module& module, std::string_view name);

}  // namespace triton_runner::probe
