// Lowers mapa and getctarank. See PTX ISA 9.7.9.23, 9.7.9.24.
#include "ops/cluster.h"

#include "front/ptx/lower.h"

namespace triton_runner::simt {

using ptx::Mod;

bool lower_cluster(Lowering& l, const ptx::Instruction& in) {
  const bool wide = in.type(0) == Mod::kU64;
  const bool map = in.opcode == ptx::Opcode::kMapa;
  const uint32_t d = l.reg(in.operands[0]);
  const uint32_t a = l.place(in.operands[1], wide ? Mod::kU64 : Mod::kU32);
  const uint32_t b = map ? l.place(in.operands[2], Mod::kU32) : kNoRegister;
  if (d == kNoRegister) return true;
  return l.emit(map ? map_handler(wide) : rank_handler(wide), {.d = d, .a = a, .b = b});
}

}  // namespace triton_runner::simt
