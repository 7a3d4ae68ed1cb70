// Declares the instruction that shows registers to an observer (exec::RegisterObserver). A debugger's is in
// stop.h.
#pragma once
#include <utility>
#include <vector>

#include "state/exec.h"

namespace triton_runner::simt {

// A probe where it stands in the code: its number, and offset and bytes of each register that it shows.
struct ProbePlace {
  uint32_t probe;
  std::vector<std::pair<uint32_t, uint32_t>> registers;
};

// The launch has LaunchOptions::registers.
void show_registers(Exec& x, const Operands& in, const ProbePlace& place);

}  // namespace triton_runner::simt
