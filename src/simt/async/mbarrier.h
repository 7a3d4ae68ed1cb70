// Declares operations on mbarriers by threads and by what completes later: they are checked, trap where they
// are wrong, and are events of the cluster.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <triton_runner/machine/mbarrier.h>

#include "state/address.h"

namespace triton_runner::simt {

// `lane` is the thread to name in a trap. Addresses are 32-bit shared addresses, of any block of the cluster.
// All of these give false after a trap; what completes a phase counts as an event of the cluster.
// `state` gets the barrier as it was before, where it is not null.
bool mbarrier_arrive(Exec& x, const Operands& in, uint32_t lane, uint32_t address,
                     const machine::Arrival& arrival = {}, uint64_t* state = nullptr);
bool mbarrier_expect_tx(Exec& x, const Operands& in, uint32_t lane, uint32_t address, uint32_t bytes);
bool mbarrier_complete_tx(Exec& x, const Operands& in, uint32_t lane, uint32_t address, uint32_t bytes);
// One arrival more in the current phase (cp.async.mbarrier.arrive without .noinc).
bool mbarrier_add_pending(Exec& x, const Operands& in, uint32_t lane, uint32_t address);
// Returns whether its 8 bytes are zeros, as mbarrier.inval leaves them.
bool mbarrier_is_gone(Exec& x, const Operands& in, uint32_t lane, uint32_t address);
// Returns whether there is a barrier; traps if not.
bool mbarrier_valid(Exec& x, const Operands& in, uint32_t lane, uint32_t address);

// An Exec for an AsyncOp, which runs when the instruction's path may be over: for memory and traps.
Exec late_exec(Cta& cta);

// ---- instructions
struct MbarrierPlan {
  AddressPlace address;
  uint32_t value = kNoRegister;  // count, bytes, state or parity
  bool expect_tx = false, drop = false, no_complete = false;
  bool parity = false;  // of waits
};
void run_mbarrier_init(Exec& x, const Operands& in, const MbarrierPlan& plan);
void run_mbarrier_inval(Exec& x, const Operands& in, const MbarrierPlan& plan);
void run_mbarrier_arrive(Exec& x, const Operands& in, const MbarrierPlan& plan);  // d: the state, or none
void run_mbarrier_expect_tx(Exec& x, const Operands& in, const MbarrierPlan& plan);
void run_mbarrier_complete_tx(Exec& x, const Operands& in, const MbarrierPlan& plan);
void run_mbarrier_test_wait(Exec& x, const Operands& in, const MbarrierPlan& plan);  // d: the predicate
void run_mbarrier_try_wait(Exec& x, const Operands& in, const MbarrierPlan& plan);
void run_mbarrier_pending_count(Exec& x, const Operands& in);  // d: of state a; no plan

// "shared 0x230", "shared 0x230 of block 1"
std::string shared_text(uint32_t address);
// The addresses at which the block has set up barriers, under a debugger.
std::vector<uint32_t> used_mbarriers(const Cta& cta);
bool waits_at_mbarrier(const Path& path);  // in mbarrier.try_wait
// Its address, of a path that stands there.
std::optional<uint32_t> awaited_mbarrier(Cta& cta, const Path& path);
// Says what such a path does: "waits for a phase of the mbarrier at shared address 0x10 with parity 0 to end
// (phase 0: 1 arrival and 512 bytes are missing)"; empty for others.
std::string describe_mbarrier_wait(Cta& cta, const Path& path);

}  // namespace triton_runner::simt
