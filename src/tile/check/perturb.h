// Perturbation does Monte-Carlo arithmetic (LaunchOptions::perturb): every result of an op that rounds
// (effects.def) moves by a pseudo-random part of what rounding, another order of the sum, or the unit that
// computes it may change.
#pragma once
#include <triton_runner/exec/order.h>

#include "check/check.h"
#include "task.h"

namespace triton_runner::tile {

class Perturbation {
 public:
  Perturbation(const CheckedCode& code, uint64_t seed) : code_(code), seed_(seed) {}
  // After an instruction ran: moves its results. Which way depends on the seed, the program, the instruction,
  // how often the program has come there, and the element.
  void after(Task& t, const Instr& in);

 private:
  // A product whose result goes to tensor memory.
  void product_in_memory(Task& t, const Instr& in);
  exec::Random random_at(const Task& t, const Instr& in) const;

  const CheckedCode& code_;
  uint64_t seed_;
};

}  // namespace triton_runner::tile
