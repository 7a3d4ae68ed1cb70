// find_hazards() checks what the control words of machine code must keep, and reports where they do not:
// check="hazard".
//
// The hardware does not look whether a register that an instruction reads is there: the assembler says in each control word for how
// long the warp stalls, which scoreboard an instruction sets and which ones it waits for, and which operands stay in the
// operand cache. Every path from the kernel's entry is followed, whatever the inputs; nothing is executed.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <triton_runner/sass/text.h>

namespace triton_runner::sass {

struct Hazard {
  const Instruction* at;     // where it goes wrong
  const Instruction* cause;  // whose result, operand or cache entry it is
  std::string reg;           // "R4", "UR6", "P0", "SB2"
  std::string message;       // a sentence
};

struct HazardReport {
  std::vector<Hazard> hazards;  // by address; each pair of instructions once
  size_t instructions = 0;      // that a path from the entry reaches
  size_t unjudged = 0;          // of these: their operands, or the time of their results, are not known
};

HazardReport find_hazards(const Module& module, const Function& function);

}  // namespace triton_runner::sass
