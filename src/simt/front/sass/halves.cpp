// Lowers instructions on halves, two in a register, and on f64 in pairs of registers, as lines of PTX. f32 is
// in floats.cpp.
#include "front/sass/lower.h"

namespace triton_runner::simt {
namespace {

// Two halves: of a register in the order that H0_H0 or H1_H1 says, with - and | | for each; `plain`: without these.
uint32_t halves(SassLowering& l, size_t k, bool plain = false) {
  const sass::Operand& o = *l.slot(k);
  if (is_literal(&o)) return l.constant(l.in().words[0] >> 32, 4);
  uint32_t at = o.kind == sass::OperandKind::kConstant
                    ? l.bank(o, 4)
                    : l.reg(o.index, o.kind == sass::OperandKind::kUniform);
  if (at == kNoRegister) return at;
  auto step = [&](const std::string& line) {
    const uint32_t out = l.temporary(4);
    l.ptx(line, {out, at});
    at = out;
  };
  if (o.index == sass::kZero && o.kind != sass::OperandKind::kConstant)
    return l.constant(o.minus && !plain ? 0x80008000u : 0, 4);
  if (o.selector == "F32") {  // rounded here: what it is added to is zero; as the first term, towards zero
    const uint32_t half = l.temporary(2);
    l.ptx(std::string(k == 1 ? "cvt.rz." : "cvt.rn.") + (l.has("BF16_V2") ? "bf16" : "f16") + ".f32 %h0, %r1",
          {half, at});
    l.ptx("mov.b32 %r0, {%h1, %h1}", {at = l.temporary(4), half});
  }
  if (o.selector == "H0_H0") step("prmt.b32 %r0, %r1, %r1, 0x1010");
  if (o.selector == "H1_H1") step("prmt.b32 %r0, %r1, %r1, 0x3232");
  if (o.absolute && !plain) step("and.b32 %r0, %r1, 0x7fff7fff");
  if (o.minus && !plain) step("xor.b32 %r0, %r1, 0x80008000");
  return at;
}

// The slots of the operands from `first`: a pair of numbers is one of them.
std::vector<size_t> operand_slots(const SassLowering& l, size_t first, size_t end) {
  std::vector<size_t> out;
  for (size_t k = first; k < end && l.slot(k); ++k) {
    out.push_back(k);
    if (is_literal(l.slot(k)) && k + 1 < end && is_literal(l.slot(k + 1))) ++k;
  }
  return out;
}

std::string half_type(const SassLowering& l) { return l.has("BF16_V2") ? ".bf16x2" : ".f16x2"; }

std::string suffixes(const SassLowering& l) {
  std::string out;
  if (l.has("FTZ")) out += ".ftz";
  if (l.has("SAT")) out += ".sat";
  if (l.has("RELU")) out += ".relu";
  if (l.has("OOB")) out += ".oob";
  return out;
}

// Returns whether the instruction is -0 * 0 plus a number: ptxas moves numbers so. Not of a NaN, nor of one that FTZ makes 0.
bool moves_number(const SassLowering& l, std::span<const size_t> at) {
  const auto is_zero = [&](size_t k) {
    const sass::Operand& o = *l.slot(k);
    return o.kind == sass::OperandKind::kRegister && o.index == sass::kZero;
  };
  if (at.size() != 3 || !is_zero(at[0]) || !is_zero(at[1]) || !is_literal(l.slot(at[2])) ||
      l.slot(at[0])->minus == l.slot(at[1])->minus || l.has("RELU") || l.has("SAT") || l.has("OOB"))
    return false;
  const uint32_t exponent = l.has("BF16_V2") ? 0x7f80 : 0x7c00;
  for (const uint32_t half : {l.in().words[0] >> 32 & 0x7fff, l.in().words[0] >> 48 & 0x7fff})
    if ((half & exponent) == exponent || ((half & exponent) == 0 && half != 0 && l.has("FTZ"))) return false;
  return true;
}

// HADD2, HMUL2, HFMA2: the name and how many operands.
bool lower_half_sum(SassLowering& l, const std::string& name, size_t count) {
  const std::vector<size_t> at = operand_slots(l, 1, l.in().operands.size());
  if (at.size() != count) return false;
  if (count == 3 && moves_number(l, at)) return l.copy(l.result(0), halves(l, at[2]), 4);
  for (size_t k : at)
    if (l.slot(k)->selector == "F32" &&
        (name != "add" || l.slot(at[k == at[0] ? 1 : 0])->index != sass::kZero))
      return false;
  if (count == 2) {
    return l.ptx(name + suffixes(l) + half_type(l) + " %r0, %r1, %r2",
                 {l.result(0), halves(l, at[0]), halves(l, at[1])});
  }
  return l.ptx(name + suffixes(l) + half_type(l) + " %r0, %r1, %r2, %r3",
               {l.result(0), halves(l, at[0]), halves(l, at[1]), halves(l, at[2])});
}

// Lowers an operation on one half each, in f32.
bool lower_half_to_f32(SassLowering& l) {
  uint32_t terms[2];
  for (size_t k = 0; k < 2; ++k) {
    const uint32_t half = l.temporary(2);
    l.ptx("cvt.u16.u32 %h0, %r1", {half, halves(l, 1 + k)});
    l.ptx("cvt.f32.f16 %r0, %h1", {terms[k] = l.temporary(4), half});
  }
  const sass::Operand& a = *l.slot(1);
  if (a.index == sass::kZero && a.minus && a.kind == sass::OperandKind::kRegister && !l.has("SAT"))
    return l.copy(l.result(0), terms[1], 4);
  return l.ptx("add" + suffixes(l) + ".f32 %r0, %r1, %r2", {l.result(0), terms[0], terms[1]});
}

// Lowers an extremum of two, or (VHMNMX) of three.
bool lower_half_extremum(SassLowering& l) {
  const size_t count = l.opcode() == sass::Opcode::kVHMNMX ? 3 : 2;
  const std::vector<size_t> at = operand_slots(l, 1, l.in().operands.size() - 1);
  const size_t p = l.in().operands.size() - 1;
  if (at.size() != count || !l.slot(p) || l.slot(p)->kind != sass::OperandKind::kPredicate) return false;
  const bool signs = l.has("XORSIGN");
  if (signs && !(l.slot(at[0])->absolute && l.slot(at[1])->absolute)) return false;
  const std::string rest = std::string(l.has("FTZ") ? ".ftz" : "") + (l.has("NAN") ? ".NaN" : "") +
                           (signs ? ".xorsign.abs" : "") + half_type(l) + " %r0, %r1, %r2";
  uint32_t so_far = halves(l, at[0], signs);
  if (count == 3) {
    if (l.slot(p)->index != sass::kTrue) return false;
    const uint32_t first = l.temporary(4);
    l.ptx((l.slot(p)->inverted ? "max" : "min") + rest, {first, so_far, halves(l, at[1])});
    so_far = first;
  }
  return l.choose(p, "min" + rest, "max" + rest, so_far, halves(l, at[count - 1], signs));
}

bool lower_half_setp(SassLowering& l) {
  const std::vector<size_t> at = operand_slots(l, 2, l.in().operands.size() - 1);
  const size_t p = l.in().operands.size() - 1;
  if (at.size() != 2 || !l.slot(p) || l.slot(p)->kind != sass::OperandKind::kPredicate) return false;
  return l.ptx(
      "setp" + compared_by(l) + half_type(l) + " %p0|%p1, %r2, %r3, %p4",
      {l.predicate_result(0), l.predicate_result(1), halves(l, at[0]), halves(l, at[1]), l.predicate(p)});
}

// Each half all ones, or (BF) 1.0, where it holds.
bool lower_half_set(SassLowering& l) {
  const std::vector<size_t> at = operand_slots(l, 1, l.in().operands.size() - 1);
  const size_t p = l.in().operands.size() - 1;
  if (at.size() != 2 || !l.slot(p) || l.slot(p)->kind != sass::OperandKind::kPredicate) return false;
  const uint32_t low = l.temporary(1), high = l.temporary(1), one = l.temporary(4), other = l.temporary(4);
  const uint64_t value = !l.has("BF") ? 0xffff : l.has("BF16_V2") ? 0x3f80 : 0x3c00;
  l.ptx("setp" + compared_by(l) + half_type(l) + " %p0|%p1, %r2, %r3, %p4",
        {low, high, halves(l, at[0]), halves(l, at[1]), l.predicate(p)});
  l.ptx("selp.b32 %r0, %r1, %r2, %p3", {one, l.constant(value, 4), l.constant(0, 4), low});
  l.ptx("selp.b32 %r0, %r1, %r2, %p3", {other, l.constant(value << 16, 4), l.constant(0, 4), high});
  return l.ptx("or.b32 %r0, %r1, %r2", {l.result(0), one, other});
}

bool lower_double(SassLowering& l, const std::string& name, size_t count) {
  const uint32_t d = l.temporary(8);
  const std::string line = name + rounding(l) + ".f64 %d0, %d1, %d2";
  if (count == 2)
    l.ptx(line, {d, l.pair(1, As::kF64), l.pair(2, As::kF64)});
  else
    l.ptx(line + ", %d3", {d, l.pair(1, As::kF64), l.pair(2, As::kF64), l.pair(3, As::kF64)});
  return l.give_pair(0, d);
}

// MIN and MAX: whether a is the one that counts, and whether both are NaN.
bool lower_double_extremum(SassLowering& l, const char* name) {
  const sass::Operand& with = *l.slot(4);
  if (with.index != sass::kTrue || with.inverted || !l.has("AND")) return false;
  const uint32_t a = l.pair(2, As::kF64), b = l.pair(3, As::kF64), one = l.temporary(8),
                 both = l.temporary(1), p = l.temporary(1);
  l.ptx(std::string(name) + ".f64 %d0, %d1, %d2", {one, a, b});
  l.ptx("setp.nan.f64 %p0, %d1, %d1", {both, a});
  l.ptx("setp.nan.and.f64 %p0, %d1, %d1, %p2", {both, b, both});
  l.ptx("setp.eq.b64 %p0, %d1, %d2", {p, one, a});
  l.copy(l.predicate_result(0), p, 1);
  return l.copy(l.predicate_result(1), both, 1);
}

bool lower_double_setp(SassLowering& l) {
  if (l.has("MIN")) return lower_double_extremum(l, "min");
  if (l.has("MAX")) return lower_double_extremum(l, "max");
  return l.compare(compared_by(l), ".f64", 'd', l.pair(2, As::kF64), l.pair(3, As::kF64), 4);
}

}  // namespace

bool lower_halves(SassLowering& l) {
  using enum sass::Opcode;
  static constexpr SassRow kRows[] = {
      {[](SassLowering& l) { return lower_double(l, "add", 2); }, {kDADD}},
      {[](SassLowering& l) { return lower_double(l, "fma", 3); }, {kDFMA}},
      {[](SassLowering& l) { return lower_double(l, "mul", 2); }, {kDMUL}},
      {lower_double_setp, {kDSETP}},
      {[](SassLowering& l) { return lower_half_sum(l, "add", 2); }, {kHADD2}},
      {lower_half_to_f32, {kHADD2_F32}},
      {[](SassLowering& l) { return lower_half_sum(l, "fma.rn", 3); }, {kHFMA2}},
      {lower_half_extremum, {kHMNMX2, kVHMNMX}},
      {[](SassLowering& l) { return lower_half_sum(l, "mul", 2); }, {kHMUL2}},
      {lower_half_set, {kHSET2}},
      {lower_half_setp, {kHSETP2}}};
  return lower_by(l, kRows);
}

}  // namespace triton_runner::simt
