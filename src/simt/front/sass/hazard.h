// first_hazard() gives, for check="hazard", the first hazard of a kernel's machine code as a Trap, before
// anything runs.
#pragma once
#include <optional>
#include <string>

#include <triton_runner/exec/trap.h>
#include <triton_runner/sass/text.h>

namespace triton_runner::simt {

std::optional<exec::Trap> first_hazard(const sass::Module& module, const sass::Function& function,
                                       const std::string& kernel);

}  // namespace triton_runner::simt
