// Lowers moves between registers, constants, special registers and predicates.
#include <bit>

#include "front/sass/handlers.h"
#include "front/sass/lower.h"

namespace triton_runner::simt {
namespace {

// Predicates as bits of a register, and back. UP2UR.B3 puts them into the uppermost byte of what the third operand holds,
// and UR2UP UPR, UR4.B3 takes all of them from there.
bool lower_predicate_bits(SassLowering& l, bool pack) {
  const size_t name = pack ? 1 : 0, mask = pack ? 3 : 2;
  const bool uniform = l.slot(name)->selector == "UPR", has_mask = l.opcode() != sass::Opcode::kUR2UP;
  if (l.slot(name)->selector != "PR" && !uniform) return false;
  const sass::Operand& from = *l.slot(pack ? 2 : 1);
  uint64_t chosen = 0x7f;
  if (has_mask) {
    if (l.slot(mask)->kind != sass::OperandKind::kInteger) return false;
    chosen = static_cast<uint64_t>(l.slot(mask)->integer);
  }
  PredicateBits bits;
  bits.mask = chosen & 0x7f;
  const std::string_view in = pack ? std::string_view(l.has("B1")   ? "B1"
                                                      : l.has("B2") ? "B2"
                                                      : l.has("B3") ? "B3"
                                                                    : "")
                                   : from.selector;
  if (bits.mask != (in.empty() ? chosen : chosen & ~uint64_t{0x80}) || (!in.empty() && in[0] != 'B'))
    return false;
  if (pack && in.empty() && from.index == sass::kZero && std::popcount(bits.mask) == 1)
    return l.ptx("selp.b32 %r0, %r1, %r2, %p3",
                 {l.result(0), l.constant(bits.mask, 4), l.constant(0, 4),
                  l.pred(static_cast<uint32_t>(std::countr_zero(bits.mask)), uniform)});
  const uint32_t shift = in.empty() ? 0 : 8 * static_cast<uint32_t>(in[1] - '0');
  for (uint32_t p = 0; p < 7; ++p)
    bits.places[p] = bits.mask >> p & 1 ? l.pred(p, uniform, !pack) : kNoRegister;
  uint32_t a = from.selector.empty() ? l.word(pack ? 2 : 1) : l.reg(from.index, uniform);
  const uint32_t moved = shift ? l.temporary(4) : a, d = pack ? l.result(0) : kNoRegister;
  if (shift) l.ptx("shf.r.wrap.b32 %r0, %r1, %r1, " + std::to_string(shift), {moved, a});
  l.emit(pack ? sums().pack_predicates : sums().unpack_predicates, {.d = d, .a = moved}, bits);
  return !pack || !shift || l.ptx("shf.l.wrap.b32 %r0, %r1, %r1, " + std::to_string(shift), {d, d});
}

// At an address of a register: looked up by each thread.
bool lower_indexed_constant(SassLowering& l, uint32_t bytes, bool is_signed) {
  const sass::Operand& o = *l.slot(1);
  if (o.parts.size() != 1 || o.descriptor || o.space == "cx") return false;
  ConstantBank bank;
  bank.is_params = o.bank == 0;
  bank.is_signed = is_signed;
  bank.offset = static_cast<uint32_t>(o.integer);
  if (!bank.is_params) {
    const std::string* constants = l.constants_of(o.bank);
    if (!constants) return false;
    bank.bytes = *constants;
  }
  const uint32_t a = l.reg(o.parts[0].index, o.parts[0].kind == sass::OperandKind::kUniform);
  const uint32_t d = bytes == 8 ? l.temporary(8) : l.result(0);
  if (const uint64_t* memory = l.memory_of(o.bank)) {
    const uint32_t at = l.temporary(4), wide = l.temporary(8);
    l.ptx("add.u32 %r0, %r1, %r2", {at, a, l.constant(bank.offset, 4)});
    l.ptx("mov.b64 %d0, {%r1, %r2}", {wide, at, l.constant(0, 4)});
    l.ptx("add.s64 %d0, %d0, %d1", {wide, l.constant(*memory, 8)});
    const std::string type = (is_signed ? "s" : "u") + std::to_string(8 * bytes);
    l.ptx("ld.const." + type + (bytes == 8 ? " %d0, [%d1]" : " %r0, [%d1]"), {d, wide});
  } else {
    l.emit(handler<load_constant>, {.d = d, .a = a, .small = bytes}, std::move(bank));
    l.name_last();
  }
  if (bytes == 8) l.give_pair(0, d);
  return true;
}

bool lower_four_constants(SassLowering& l) {
  const std::vector<uint32_t> to = l.registers(0, 4, true);
  for (const sass::Operand& part : l.slot(1)->parts)
    if (part.index != sass::kZero) return false;
  sass::Operand word = *l.slot(1);
  for (uint32_t d : to) {
    const uint32_t from = l.bank(word, 4);
    if (from == kNoRegister) return false;
    l.copy(d, from, 4);
    word.integer += 4;
  }
  return true;
}

bool lower_constant(SassLowering& l) {
  const sass::Operand& o = *l.slot(1);
  if (o.kind != sass::OperandKind::kConstant) return false;
  const bool is_signed = l.has("S8") || l.has("S16");
  if (l.has("128")) return lower_four_constants(l);
  const uint32_t bytes = l.has("64")                    ? 8
                         : l.has("U8") || l.has("S8")   ? 1
                         : l.has("U16") || l.has("S16") ? 2
                                                        : 4;
  for (const sass::Operand& part : o.parts)
    if (part.index != sass::kZero) return lower_indexed_constant(l, bytes, is_signed);
  const uint32_t from = l.bank(o, bytes);
  if (from == kNoRegister) return false;
  if (l.is_unread()) return true;
  if (bytes == 8) return l.give_pair(0, from);
  if (bytes == 4) return l.copy(l.result(0), from, 4);
  return l.ptx(
      std::string(is_signed ? "cvt.s32.s" : "cvt.u32.u") + (bytes == 1 ? "8 %r0, %b1" : "16 %r0, %h1"),
      {l.result(0), from});
}

bool lower_special(SassLowering& l, uint32_t bytes) {
  const uint32_t from = l.special(l.slot(1)->selector, bytes);
  if (from == kNoRegister) return false;
  if (bytes == 8) return l.give_pair(0, from);
  return l.copy(l.result(0), from, 4);
}

// Rpc, two registers that code puts aside what it likes in: Rpc.LO, Rpc.HI, or (64) both.
bool lower_put_aside(SassLowering& l) {
  const size_t name = l.shape() == 0 ? 0 : 1;
  std::string_view which = l.slot(name)->selector;
  if (!which.starts_with("Rpc")) return false;
  which.remove_prefix(3);
  const bool both = l.has("64");
  if (both ? !which.empty() : which != ".LO" && which != ".HI") return false;
  const std::vector<uint32_t> registers = l.registers(1 - name, both ? 2 : 1, name == 1);
  for (uint32_t k = 0; k < registers.size(); ++k) {
    const uint32_t aside = l.aside(both ? k : which == ".HI");
    l.copy(name == 0 ? aside : registers[k], name == 0 ? registers[k] : aside, 4);
  }
  return true;
}

}  // namespace

bool lower_moves(SassLowering& l) {
  if (l.is_fill()) return true;
  switch (l.opcode()) {
    case sass::Opcode::kCS2R: {
      // A pair: RZ twice, or a counter of 64 bits.
      const std::string_view name = l.slot(1)->selector;
      if (name != "SRZ" && name != "SR_CLOCKLO" && name != "SR_GLOBALTIMERLO") return false;
      return lower_special(l, 8);
    }
    case sass::Opcode::kLDC:
    case sass::Opcode::kLDCU:
    case sass::Opcode::kULDC:
      return lower_constant(l);
    case sass::Opcode::kP2R:
    case sass::Opcode::kUP2UR:
      return lower_predicate_bits(l, true);
    case sass::Opcode::kR2P:
    case sass::Opcode::kUR2UP:
      return lower_predicate_bits(l, false);
    case sass::Opcode::kR2UR: {
      const size_t k = l.shape();  // 1: a predicate, too: it is not this thread's value
      const uint32_t d = l.result(k), a = l.word(k + 1);
      l.emit(give_warp, {.d = d, .a = a});
      if (k == 1) l.ptx("setp.ne.u32 %p0, %r1, %r2", {l.predicate_result(0), a, d});
      return true;
    }
    case sass::Opcode::kRPCMOV:
      return lower_put_aside(l);
    case sass::Opcode::kCS2R_32:
    case sass::Opcode::kS2R:
    case sass::Opcode::kS2UR:
      return lower_special(l, 4);
    case sass::Opcode::kMOV_64:
    case sass::Opcode::kUMOV_64: {
      const uint32_t whole = l.temporary(8);
      l.copy(whole, l.wide(1), 8);
      return l.give_pair(0, whole);
    }
    case sass::Opcode::kSEL_64: {
      const uint32_t whole = l.temporary(8);
      l.ptx("selp.b64 %d0, %d1, %d2, %p3", {whole, l.wide(1), l.wide(2), l.predicate(3)});
      return l.give_pair(0, whole);
    }
    case sass::Opcode::kSEL:
    case sass::Opcode::kUSEL:
      return l.select(l.result(0), 3, l.word(1), l.word(2));
    default:  // MOV, UMOV; the last operand of MOV says which bytes: all of them
      if (l.slot(2) && l.slot(2)->integer != 15) return false;
      if (l.is_unread()) return true;
      return l.move(l.result(0), l.word(1));
  }
}

}  // namespace triton_runner::simt
