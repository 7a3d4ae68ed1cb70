// The effects of an instruction on one thread's registers, as functions over many threads: integer, float and
// packed arithmetic, logic, comparisons, conversions, moves. PTX ISA 9.7.1 to 9.7.8, 9.7.9.1 to 9.7.9.6.
#pragma once
#include <vector>

#include <triton_runner/base/result.h>
#include <triton_runner/ptx/lanes.h>
#include <triton_runner/ptx/module.h>

namespace triton_runner::ptx {

// A function and what it wants in Operands::small, imm and data; d, a, b, c, e are the instruction's operands
// in the order given by `operands`.
struct Alu {
  Handler run = nullptr;
  uint32_t small = 0;
  int64_t imm = 0;
  // Which operand of the instruction (as `flattened` counts them) goes into d, a, b, c, e; kNoOperand: none;
  // kCarry: the thread's CC.CF, a predicate. A negated predicate is inverted by the caller.
  static constexpr int8_t kNoOperand = -1, kCarry = -2;
  int8_t operands[5] = {-1, -1, -1, -1, -1};
  // The type in which an immediate at d, a, b, c, e is stored; kNone for registers only.
  Mod types[5] = {Mod::kNone, Mod::kNone, Mod::kNone, Mod::kNone, Mod::kNone};
  int8_t extra = kNoOperand;  // a sixth operand: its place goes into imm
  Mod extra_type = Mod::kPred;
};

// The operands of an instruction one by one: parts of vectors ({%r1, %r2}) and pairs (%p1|%p2) count each.
std::vector<const Operand*> flattened(const Instruction& in);

// The function of `in`, an instruction of `function` (whose registers say how wide an operand is: cvt.u32.u8
// may read a .b32 one), for the current instruction set (num::current_isa), or what it does not support.
base::Result<Alu> find_alu(const Module& module, const Function& function, const Instruction& in);

// The unit's sine and cosine of f32 in turns: sin.approx and cos.approx without their multiplication.
Handler sine_of_turns();
Handler cosine_of_turns();

}  // namespace triton_runner::ptx
