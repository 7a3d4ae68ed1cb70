// Moves between registers, constants, special registers and predicates.
#include "sass/handlers.h"
#include "sass/lower.h"

namespace triton_runner::simt {
namespace {

bool lower_predicate_bits(SassLowering& l, bool pack) {
  const size_t name = pack ? 1 : 0, mask = pack ? 3 : 2;
  if (l.slot(name)->selector != "PR") return false;
  const sass::Operand& m = *l.slot(mask);
  if (m.kind != sass::OperandKind::kInteger) return false;
  PredicateBits bits;
  bits.mask = static_cast<uint32_t>(m.integer) & 0x7f;
  if (bits.mask != static_cast<uint64_t>(m.integer)) return false;
  for (uint32_t p = 0; p < 7; ++p) bits.places[p] = bits.mask >> p & 1 ? l.pred(p) : kNoRegister;
  const uint32_t a = l.word(pack ? 2 : 1), d = pack ? l.result(0) : kNoRegister;
  Instr& i = l.emit(pack ? pack_predicates : unpack_predicates);
  i.d = d, i.a = a, i.data = l.code.keep(bits);
  return true;
}

// From a place of 8 bytes: as many of them as the suffixes say, the sign filled in.
void give_narrow(SassLowering& l, uint32_t wide) {
  const bool is_signed = l.has("S8") || l.has("S16");
  const uint32_t bits = l.has("U8") || l.has("S8") ? 8 : l.has("U16") || l.has("S16") ? 16 : 32;
  const uint32_t low = l.temporary(4), high = l.temporary(4);
  l.ptx("mov.b64 {%r0, %r1}, %d2", {low, high, wide});
  l.ptx(std::string(is_signed ? "bfe.s32" : "bfe.u32") + " %r0, %r1, 0, " + std::to_string(bits), {l.result(0), low});
}

// c[0x3][R4+0x10]: of a bank of the cubin, or of the launch's parameters.
bool lower_indexed_constant(SassLowering& l, const sass::Operand& o) {
  const bool is_word = l.has("64") || !(l.has("U8") || l.has("S8") || l.has("U16") || l.has("S16"));
  if (o.parts.size() != 1 || o.descriptor || o.parts[0].selector != "") return false;
  ConstantBank bank;
  bank.bytes = l.has("64") ? 8 : is_word ? 4 : l.has("U16") || l.has("S16") ? 2 : 1;
  bank.number = o.bank;
  if (o.bank != 0) {
    auto found = l.kernel.banks.find(static_cast<int>(o.bank));
    if (found == l.kernel.banks.end()) return false;
    bank.content = found->second;
  }
  const uint32_t at = l.temporary(4), wide = l.temporary(8);
  l.ptx("add.s32 %r0, %r1, " + std::to_string(o.integer),
        {at, l.reg(o.parts[0].index, o.parts[0].kind == sass::OperandKind::kUniform)});
  Instr& i = l.emit(load_constant);
  i.d = wide, i.a = at, i.data = l.code.keep(std::move(bank));
  if (l.has("64"))
    l.give_pair(0, wide);
  else
    give_narrow(l, wide);
  return true;
}

bool lower_constant(SassLowering& l) {
  const sass::Operand& o = *l.slot(1);
  if (o.kind != sass::OperandKind::kConstant) return false;
  if (SassLowering::is_indexed(o)) return lower_indexed_constant(l, o);
  const bool wide = l.has("64"), narrow = l.has("U8") || l.has("S8") || l.has("U16") || l.has("S16");
  const uint32_t bytes = wide ? 8 : l.has("U8") || l.has("S8") ? 1 : narrow ? 2 : 4, from = l.bank(o, bytes);
  if (from == kNoRegister) return false;
  if (wide)
    l.give_pair(0, from);
  else if (bytes == 1)
    l.ptx(std::string("cvt.") + (l.has("S8") ? "s32.s8" : "u32.u8") + " %r0, %b1", {l.result(0), from});
  else if (bytes == 2)
    l.ptx(std::string("cvt.") + (l.has("S16") ? "s32.s16" : "u32.u16") + " %r0, %h1", {l.result(0), from});
  else
    l.copy(l.result(0), from, 4);
  return true;
}

bool lower_special(SassLowering& l, uint32_t bytes) {
  const uint32_t from = l.special(l.slot(1)->selector, bytes);
  if (from == kNoRegister) return false;
  if (bytes == 8)
    l.give_pair(0, from);
  else
    l.copy(l.result(0), from, 4);
  return true;
}

}  // namespace

bool lower_moves(SassLowering& l) {
  switch (l.opcode()) {
    case sass::Opcode::kCS2R: {
      // A pair: RZ twice, or a counter of 64 bits.
      const std::string_view name = l.slot(1)->selector;
      if (name != "SRZ" && name != "SR_CLOCKLO" && name != "SR_GLOBALTIMERLO") return false;
      return lower_special(l, 8);
    }
    case sass::Opcode::kLDC:
    case sass::Opcode::kULDC:
      return lower_constant(l);
    case sass::Opcode::kP2R:
      return lower_predicate_bits(l, true);
    case sass::Opcode::kR2P:
      return lower_predicate_bits(l, false);
    case sass::Opcode::kR2UR: {
      const uint32_t d = l.result(0), a = l.word(1);
      Instr& i = l.emit(give_warp);
      i.d = d, i.a = a;
      return true;
    }
    case sass::Opcode::kCS2R_32:
    case sass::Opcode::kS2R:
    case sass::Opcode::kS2UR:
      return lower_special(l, 4);
    case sass::Opcode::kSEL:
    case sass::Opcode::kUSEL:
      l.ptx("selp.b32 %r0, %r1, %r2, %p3", {l.result(0), l.word(1), l.word(2), l.predicate(3)});
      return true;
    default:  // MOV, UMOV; the last operand of MOV says which bytes: all of them
      if (l.slot(2) && l.slot(2)->integer != 15) return false;
      l.copy(l.result(0), l.word(1), 4);
      return true;
  }
}

}  // namespace triton_runner::simt
