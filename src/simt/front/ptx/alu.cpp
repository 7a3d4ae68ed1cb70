// Lowers instructions on registers alone: ptx::find_alu has their functions, this gives them their places.
#include <triton_runner/ptx/alu.h>

#include "front/ptx/lower.h"

namespace triton_runner::simt {
namespace {

void flip_predicate(Lanes& l, const Operands& in) {
  const int8_t* a = l.reg<int8_t>(in.a);
  int8_t* d = l.reg<int8_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i) d[i] = static_cast<int8_t>(~a[i]);
}

}  // namespace

bool lower_alu(Lowering& l, const ptx::Instruction& in) {
  auto found = ptx::find_alu(l.module, l.function(), in);
  if (!found) {
    l.report(found.error());
    return false;
  }
  const std::vector<const ptx::Operand*> operands = ptx::flattened(in);
  auto place_of = [&](int8_t which, lanes::Type stored) {
    if (which == lanes::LaneFunction::kCarry) return l.carry();
    if (which < 0) return kNoRegister;
    const ptx::Operand& o = *operands[static_cast<size_t>(which)];
    const ptx::Mod type = ptx::mod_of(stored);
    const uint32_t place = type == ptx::Mod::kNone ? l.reg(o) : l.place(o, type);
    if (!o.negated || place == kNoRegister) return place;
    const uint32_t flipped = l.temporary(1);
    l.emit(flip_predicate, {.d = flipped, .a = place});
    return flipped;
  };
  std::array<uint32_t, 6> places;
  for (size_t k = 0; k < 5; ++k) places[k] = place_of(found->operands[k], found->types[k]);
  places[5] = place_of(found->extra, found->extra_type);
  return l.emit(*found, places);
}

}  // namespace triton_runner::simt
