// Declares barriers that count threads: those that a block knows by number, and the cluster's. mbarriers are
// in mbarrier.h.
#pragma once
#include <cstdint>

namespace triton_runner::machine {

// bar.sync, bar.arrive. See PTX ISA 9.7.13.1.
struct NamedBarrier {
  uint32_t expected = 0;  // threads of this phase; 0: all of the block, or nobody has arrived
  uint32_t arrived = 0;
  uint64_t passed = 0;  // phases that have ended

  // `threads` of `wanted` (0: of `all`) arrive. True: that ends the phase.
  bool arrive(uint32_t threads, uint32_t wanted, uint32_t all) {
    if (wanted) expected = wanted;
    arrived += threads;
    if (arrived < (expected ? expected : all)) return false;
    expected = arrived = 0;
    ++passed;
    return true;
  }
};

// barrier.cluster. See PTX ISA 9.7.13.4. Members are threads, or blocks that arrive as a whole.
struct ClusterBarrier {
  uint64_t phase = 0;
  uint32_t arrived = 0;

  // Returns what a member that arrives now remembers.
  uint64_t ticket() const { return phase + 1; }
  bool is_open(uint64_t ticket) const { return ticket != phase + 1; }
  // `alive`: members that have not ended, as those arrive nowhere. True: that ends the phase.
  bool arrive(uint32_t members, uint32_t alive) {
    arrived += members;
    return settle(alive);
  }
  // Once members may have ended.
  bool settle(uint32_t alive) {
    if (arrived == 0 || arrived < alive) return false;
    arrived = 0;
    ++phase;
    return true;
  }
};

}  // namespace triton_runner::machine
