// Declares the instruction that stops for a debugger (exec::Stopper): one before each that it wants, which
// knows the registers of its function.
#pragma once
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <triton_runner/num/type.h>

#include "state/exec.h"

namespace triton_runner::simt {

// The registers of a function under a debugger.
struct StopRegisters {
  std::deque<std::string> names;  // they stay where they are: values() has their addresses
  std::vector<const void*> values;
  std::vector<uint32_t> offsets;
  std::vector<num::Type> types;
  void add(std::string name, uint32_t offset, num::Type type) {
    values.push_back(names.emplace_back(std::move(name)).c_str());
    offsets.push_back(offset);
    types.push_back(type);
  }
};
struct StopPlace {
  uint32_t place;
  const StopRegisters* registers;
};

// The launch has LaunchOptions::stopper.
void stop_lanes(Exec& x, const Operands& in, const StopPlace& place);

}  // namespace triton_runner::simt
