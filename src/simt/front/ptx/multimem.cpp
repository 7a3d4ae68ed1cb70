// Lowers multimem: accesses to the same place of several devices' memory. There is one device here, so that
// each is a plain load, store or reduction of it. See PTX ISA 9.7.9.14.
#include <vector>

#include "front/ptx/lower.h"

namespace triton_runner::simt {

using ptx::Mod;

bool lower_multimem(Lowering& l, const ptx::Instruction& in) {
  ptx::Instruction one = in;
  one.opcode = in.has(Mod::kLdReduce) ? ptx::Opcode::kLd
               : in.has(Mod::kSt)     ? ptx::Opcode::kSt
               : in.has(Mod::kRed)    ? ptx::Opcode::kRed
                                      : ptx::Opcode::kUnknown;
  if (one.opcode == ptx::Opcode::kUnknown || in.has(Mod::kBulk))
    return l.fail(in, "the engine does not execute '" + std::string(in.spelling) + "'");
  if (in.operands.size() != 2) return l.fail(in, "multimem takes an address and a value");
  std::vector<Mod> mods;
  for (Mod m : in.mods) {
    const bool names_itself = m == Mod::kLdReduce || m == Mod::kSt || m == Mod::kRed;
    const bool of_the_sum =
        m == Mod::kAccF16 || m == Mod::kAccF32 ||
        (one.opcode == ptx::Opcode::kLd && (m == Mod::kAdd || m == Mod::kMin || m == Mod::kMax ||
                                            m == Mod::kAnd || m == Mod::kOr || m == Mod::kXor));
    if (!names_itself && !of_the_sum) mods.push_back(m);
  }
  one.mods = mods;
  return one.opcode == ptx::Opcode::kRed ? lower_atomic(l, one) : lower_memory(l, one);
}

}  // namespace triton_runner::simt
