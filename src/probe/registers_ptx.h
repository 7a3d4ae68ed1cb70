// What PTX instructions write, and where jumps go: shared by what plans probes of registers.
#pragma once
#include <optional>
#include <vector>

#include <triton_runner/probe/registers.h>

namespace triton_runner::probe {

// Registers that an instruction writes, in the order of its result operands: all parts of {%r1, %r2} and
// %p1|%p2. PTX ISA: results come first; instructions without any are stores, branches, barriers and the like.
std::vector<uint32_t> results_of(const ptx::Instruction& in);

// Registers that it reads: sources, addresses, the guard.
std::vector<uint32_t> sources_of(const ptx::Instruction& in);

// Of each instruction (and the end of the body): whether a jump may come there.
std::vector<bool> jump_targets(const ptx::Function& f);

// Whether what stands after it may not be reached from it.
bool is_control(const ptx::Instruction& in);

// The instruction behind which the results of instruction `at` are there: itself, or, of wgmma.mma_async and
// tcgen05.ld, the wait that completes it on the way without jumps; none where there is no such wait.
// `targets`: jump_targets().
std::optional<uint32_t> completed_by(const ptx::Function& f, uint32_t at, const std::vector<bool>& targets);

// The instruction that commits a product on the way without jumps: a wait may stand behind it.
std::optional<uint32_t> committed_by(const ptx::Function& f, uint32_t at, const std::vector<bool>& targets);

// The plan less some of its taps.
RegisterPlan without_taps(RegisterPlan plan, const std::vector<bool>& lost);

}  // namespace triton_runner::probe
