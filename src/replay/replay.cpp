// Implements replay(): sets up one SM (sm.h) with its programs, and runs it.
#include <triton_runner/replay/replay.h>

#include "sm.h"

namespace triton_runner::replay {

Result replay(const sass::Function& function, const exec::Trace& trace, const Parameters& chip,
              const Setup& setup) {
  Result result;
  result.stalls.resize(function.body.size());
  const std::vector<Op> ops = program_of(function, chip);
  for (const auto& stretch : trace.stretches)
    for (const uint32_t i : stretch)
      if (i >= ops.size()) {
        result.fault = "the trace is of other machine code";
        return result;
      }
  Sm(ops, trace, chip, setup, result).run();
  return result;
}

}  // namespace triton_runner::replay
