// Declares a function that is being lowered: the entry, or a callee in place of a call.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "front/ptx/contract.h"
#include "front/ptx/lower.h"
#include "launch/stop.h"

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

}  // namespace triton_runner::simt
