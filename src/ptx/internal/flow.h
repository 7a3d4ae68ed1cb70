// Finds which registers PTX instructions read and write, and where jumps go. dataflow.h and liveness.h are
// made of these.
#pragma once
#include <cstdint>
#include <vector>

#include <triton_runner/ptx/module.h>

namespace triton_runner::ptx {

// Registers that an instruction writes, in the order of its result operands: all parts of {%r1, %r2} and
// %p1|%p2. PTX ISA: results come first; instructions without any are stores, branches, barriers and the like.
std::vector<uint32_t> results_of(const Instruction& in);

// Registers that it reads: sources, addresses, the guard.
std::vector<uint32_t> sources_of(const Instruction& in);

// Returns whether it also reads the results that it writes: a wgmma adds to its sums.
bool adds_to_results(const Instruction& in);

// The registers of a function that are its .reg results, [0, returns_end), and then its .reg parameters.
struct FormalRegisters {
  uint32_t returns_end, params_end;
};
FormalRegisters formal_registers(const Function& f);

// For each instruction (and the end of the body): whether a jump may come there.
std::vector<bool> jump_targets(const Function& f);

// Returns whether what stands after it may not be reached from it.
bool is_control(const Instruction& in);

// For one of these: whether it is a call, after which the next instruction runs.
bool comes_back(const Instruction& in);

// The instructions where a jump may go: indices into the body, or its size for the end.
std::vector<uint32_t> targets_of(const Instruction& in);

// Returns whether its results follow from its operands and the kernel's parameters alone, and it does nothing
// else.
bool is_pure(const Instruction& in);

}  // namespace triton_runner::ptx
