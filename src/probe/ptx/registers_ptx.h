// Finds from which instruction on the results of an instruction are in their registers. All that plans reads
// of registers shares it.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include <triton_runner/probe/registers.h>
#include <triton_runner/ptx/flow.h>

namespace triton_runner::probe {

using ptx::is_control;
using ptx::is_pure;
using ptx::jump_targets;
using ptx::results_of;
using ptx::sources_of;

// Returns whether an instruction writes a register.
inline bool writes(const ptx::Instruction& in, uint32_t reg) {
  const std::vector<uint32_t> results = results_of(in);
  return std::find(results.begin(), results.end(), reg) != results.end();
}
// Bytes of a register; 1 of a predicate.
inline uint32_t width_of(const ptx::Function& f, uint32_t reg) {
  return static_cast<uint32_t>(std::max(1, ptx::bits(f.registers[reg].type) / 8));
}

// The instruction after which the results of instruction `at` are there: itself, or, of wgmma.mma_async and
// tcgen05.ld, the wait that completes it on the way without jumps; none where there is no such wait.
// `targets`: jump_targets().
std::optional<uint32_t> completed_by(const ptx::Function& f, uint32_t at, const std::vector<bool>& targets);

// The instruction that commits a product on the way without jumps: a wait may stand after it.
std::optional<uint32_t> committed_by(const ptx::Function& f, uint32_t at, const std::vector<bool>& targets);

// The tap less the registers that are copies.
Tap without_copies(const Tap& tap);

// The plan less some of its taps.
RegisterPlan without_taps(RegisterPlan plan, const std::vector<bool>& lost);

}  // namespace triton_runner::probe
