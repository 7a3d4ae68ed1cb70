// Finds the function over lanes that an instruction of PTX asks for: integer, float and packed arithmetic,
// logic, comparisons, conversions, moves. See PTX ISA 9.7.1 to 9.7.8, 9.7.9.1 to 9.7.9.6.
//
//   add.rz.ftz.f32 %r0, %r1, %r2     Operation::kAdd of Type::kF32, kVFtz | kVDirected; small: kZero
#pragma once
#include <vector>

#include <triton_runner/base/result.h>
#include <triton_runner/lanes/functions.h>
#include <triton_runner/ptx/module.h>

namespace triton_runner::ptx {

// The operands of an instruction one by one: parts of vectors ({%r1, %r2}) and pairs (%p1|%p2) count each.
std::vector<const Operand*> flattened(const Instruction& in);

// The function of `in`, an instruction of `function` (whose registers say how wide an operand is: cvt.u32.u8
// may read a .b32 one), for the current instruction set (num::current_isa), or what it does not support. Its operands are
// those of flattened(in).
base::Result<lanes::LaneFunction> find_alu(const Module& module, const Function& function,
                                           const Instruction& in);

// The type of that name: of an immediate of a lanes::LaneFunction.
Mod mod_of(lanes::Type type);

}  // namespace triton_runner::ptx
