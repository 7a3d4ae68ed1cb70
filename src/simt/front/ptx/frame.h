// Declares a function that is being lowered: the entry, a callee in place of a call, or a routine.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "front/ptx/contract.h"
#include "front/ptx/lower.h"
#include "launch/stop.h"
#include "ops/control.h"
#include "ops/stack.h"

namespace triton_runner::simt {

struct Lowering::Frame {
  const ptx::Function* function = nullptr;
  const Frame* caller = nullptr;
  uint32_t depth = 0;
  std::vector<uint32_t> places;                               // of registers
  std::unordered_map<const ptx::Variable*, uint32_t> locals;  // offsets in local memory
  std::optional<ContractedCode> contracted;
  ptx::EarlyUses early;                      // of the products of wgmma
  const StopRegisters* registers = nullptr;  // under a debugger
};

// A function whose code stands once, and whose frames are on the stack: one that calls itself, by way of others too, and
// one that would be inlined too often.
struct Lowering::Routine {
  const ptx::Function* function = nullptr;
  std::shared_ptr<Activation> activation = std::make_shared<Activation>();
  std::vector<uint32_t>
      passed;  // places in which .reg results and parameters travel, in the order of registers
  std::unordered_map<const ptx::Variable*, uint32_t> formals;  // offsets in the frame
  uint32_t link = kNoRegister;                                 // the place that says which call it returns to
  uint32_t start = 0;                                          // its first instruction
  std::shared_ptr<BranchTable> returns = std::make_shared<BranchTable>();
  struct Site {
    uint32_t jump, back;  // instructions: the jump to the routine, and where it returns to
  };
  std::vector<Site> sites;
};

}  // namespace triton_runner::simt
