// Finds registers whose values are still needed: pressure() where there are most, live_across() those that calls have to keep.
#pragma once
#include <cstdint>
#include <vector>

#include <triton_runner/ptx/module.h>

namespace triton_runner::ptx {

// The instruction of a function before which most is live.
struct Pressure {
  uint32_t at = 0;     // its index in the body
  uint32_t words = 0;  // 32-bit registers: 64-bit values are two, predicates none
  struct Live {
    uint32_t reg;
    int32_t definition;  // the last instruction before `at` in the text that gives it; -1: none
  };
  std::vector<Live> live;  // at that place, in the order of Function::registers
};

// By dataflow over the text as it stands: ptxas allocates after it has reordered, so that its number of
// registers is another one.
Pressure pressure(const Function& function);

// For each register: whether its value is needed after one of the instructions `at` says (an index into the body each).
std::vector<bool> live_across(const Function& function, const std::vector<bool>& at);

}  // namespace triton_runner::ptx
