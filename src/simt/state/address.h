// AddressPlace is the [register + offset] of instructions that take addresses one thread at a time.
#pragma once
#include "state/exec.h"

namespace triton_runner::simt {

struct AddressPlace {
  uint32_t place = kNoRegister;
  uint32_t bytes = 8;  // of the register: 4 or 8
  int64_t offset = 0;
  bool generic = false;  // of no state space
  // For the thread `lane` after the path's first.
  uint64_t at(const Lanes& x, uint32_t lane) const {
    const uint64_t base = bytes == 4 ? x.reg<uint32_t>(place)[lane] : x.reg<uint64_t>(place)[lane];
    return base + static_cast<uint64_t>(offset);
  }
  // The same, as an address of shared memory; kNoRegister after a trap.
  uint32_t shared_at(Exec& x, const Operands& in, uint32_t lane) const {
    const uint64_t address = at(x, lane);
    if (!generic) return static_cast<uint32_t>(address);
    if ((address & kWindowMask) == kSharedWindow) return static_cast<uint32_t>(address);
    x.trap(in, exec::TrapKind::kOutOfBounds, "the generic address lies outside of shared memory", lane,
           address, 8);
    return kNoRegister;
  }
};

}  // namespace triton_runner::simt
