// Tells where an op comes from, for diagnostics and traps.
#pragma once
#include <string>

#include <triton_runner/base/diagnostic.h>
#include <triton_runner/ir/module.h>

namespace triton_runner::tile {

// The source line of an op that a person would look at (its loc), else its place in the module's text.
base::Location location_of(const ir::Op& op, const ir::Module& module);
// Its place in the module's text, for diagnostics about the artifact itself.
base::Diagnostic diagnostic_at(const ir::Op& op, const ir::Module& module, std::string message);
// "0.5 s"
std::string seconds_text(double seconds);

}  // namespace triton_runner::tile
