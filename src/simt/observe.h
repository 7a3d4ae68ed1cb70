// Instructions that show registers to an observer (exec::RegisterObserver).
#pragma once
#include <utility>
#include <vector>

#include "code.h"

namespace triton_runner::simt {

// A probe where it stands in the code: its number, and offset and bytes of each register that it shows.
struct ProbePlace {
  uint32_t probe;
  std::vector<std::pair<uint32_t, uint32_t>> registers;
};

// Operands::data is a ProbePlace. The launch's observer is an exec::RegisterObserver.
void show_registers(Lanes& lanes, const Operands& in);

}  // namespace triton_runner::simt
