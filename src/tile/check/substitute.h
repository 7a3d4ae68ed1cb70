// LaunchOptions::substitution in the tile engine: elements that a check reports get a number.
#pragma once
#include <functional>
#include <span>

#include "task.h"

namespace triton_runner::tile {

// `elements` of result `s` are what a check reports, and describe() says of the first of them. False where the
// launch makes no such experiment; else the place is noted, and the elements are replaced if it is among those
// to be.
bool substituted(Task& t, const Instr& in, Slot s, std::span<const int64_t> elements,
                 const std::function<exec::Trap()>& describe);

}  // namespace triton_runner::tile
