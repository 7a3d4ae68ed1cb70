// mbarrier objects: 64 bits in shared memory that count arrivals and bytes, phase by phase. PTX
// ISA 9.7.13.15.
//
// The encoding is ours: kernels may only use it through instructions. Memory that holds no barrier is told by
// its two highest bits.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "exec.h"

namespace triton_runner::simt {

inline constexpr uint32_t kMaxMbarrierCount = (1u << 20) - 1;  // arrivals, and bytes either way

struct Mbarrier {
  uint32_t pending = 0;   // arrivals that the current phase still wants
  uint32_t expected = 0;  // arrivals that the next phase will want
  int32_t tx = 0;         // bytes announced and not yet there; negative where they came first
  bool phase = false;     // parity of the current phase
};
uint64_t encode_mbarrier(const Mbarrier& m);
std::optional<Mbarrier> decode_mbarrier(uint64_t bits);  // empty: no barrier

// `lane` is the thread to name in a trap. Addresses are 32-bit shared addresses, of any block of the cluster.
// All of these give false after a trap; what completes a phase counts as an event of the cluster.
struct Arrival {
  uint32_t count = 1;
  uint32_t expect_tx = 0;  // bytes announced before arriving
  bool drop = false;       // the next phases want `count` fewer
  bool no_complete = false;
};
// `state` gets the barrier as it was before, where it is not null.
bool mbarrier_arrive(Exec& x, const Operands& in, uint32_t lane, uint32_t address,
                     const Arrival& arrival = {}, uint64_t* state = nullptr);
bool mbarrier_expect_tx(Exec& x, const Operands& in, uint32_t lane, uint32_t address, uint32_t bytes);
bool mbarrier_complete_tx(Exec& x, const Operands& in, uint32_t lane, uint32_t address, uint32_t bytes);
// One arrival more in the current phase (cp.async.mbarrier.arrive without .noinc).
bool mbarrier_add_pending(Exec& x, const Operands& in, uint32_t lane, uint32_t address);
// Whether there is a barrier; traps if not.
bool mbarrier_valid(Exec& x, const Operands& in, uint32_t lane, uint32_t address);

// An Exec for an AsyncOp, which runs when the instruction's path may be over: for memory and traps.
Exec late_exec(Cta& cta);

bool waits_at_mbarrier(const Path& path);  // in mbarrier.try_wait
// What such a path does: "waits for a phase of the mbarrier at shared address 0x10 with
// parity 0 to end (phase 0: 1 arrival and 512 bytes are missing)"; empty for others.
std::string describe_mbarrier_wait(Cta& cta, const Path& path);

}  // namespace triton_runner::simt
