// Declares what contraction (contract.cpp) asks of functions that are computed as the target does: of
// divisions and of the target's library. It knows their ops by the rule in their rows, HARDWARE(divf) and
// HARDWARE(library), whose functions are therefore declared here.
#pragma once
#include <optional>

#include "lowering.h"

namespace triton_runner::tile {

// The f32 that a constant has in all of its elements.
std::optional<float> constant_of(const ir::Value* v);
bool hardware_divf(Lowering& l, const ir::Op& op);
// The PTX of $0 = $1 / $2 + $3.
std::string quotient_text(const ir::Op& division);
bool hardware_library(Lowering& l, const ir::Op& op);
// Returns whether its function of the target's library has jumps, and what follows is another stretch of
// code.
bool library_jumps(Lowering& l, const ir::Op& op);

}  // namespace triton_runner::tile
