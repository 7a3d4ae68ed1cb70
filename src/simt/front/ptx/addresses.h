// address_place() makes a place of an address as the text writes it, [register + offset] or [variable +
// offset].
#pragma once
#include "front/ptx/lower.h"
#include "state/address.h"

namespace triton_runner::simt {

inline bool is_shared(ptx::Mod m) {
  return m == ptx::Mod::kShared || m == ptx::Mod::kSharedCta || m == ptx::Mod::kSharedCluster;
}
inline bool is_in_shared(const ptx::Instruction& in) { return std::ranges::any_of(in.mods, is_shared); }

inline bool address_place(Lowering& l, const ptx::Operand& operand, AddressPlace* out) {
  Lowering::Address a;
  if (!l.address(operand, &a)) return false;
  out->place = a.place;
  out->bytes = a.bytes;
  out->offset = a.offset;
  if (!a.variable) return true;
  const bool wrapped = operand.kind == ptx::OperandKind::kAddress;
  out->place = l.place(wrapped ? operand.parts[0] : operand, ptx::Mod::kB64);
  out->bytes = 8;
  out->offset = wrapped ? operand.integer : 0;
  return out->place != kNoRegister;
}

}  // namespace triton_runner::simt
