// Lowers instructions on f32: PTX has each of these, under another name. f16 and f64 are in halves.cpp.
#include "front/sass/lower.h"

namespace triton_runner::simt {
namespace {

// ".rz.ftz.sat" of .RZ.FTZ.SAT; without a rounding, to the nearest.
std::string float_suffix(const SassLowering& l) {
  std::string out = rounding(l);
  if (l.has("FTZ")) out += ".ftz";
  if (l.has("SAT")) out += ".sat";
  return out;
}

bool lower_float_extremum(SassLowering& l) {
  const bool signs = l.has("XORSIGN");  // magnitudes are compared; a number in the text has lost its | |
  for (size_t k : {size_t{1}, size_t{2}}) {
    const sass::Operand& o = *l.slot(k);
    const bool is_number = o.kind == sass::OperandKind::kFloat || o.kind == sass::OperandKind::kInteger;
    if (signs && (o.minus || (!o.absolute && !is_number))) return false;
  }
  const std::string mods = std::string(l.has("FTZ") ? ".ftz" : "") + (l.has("NAN") ? ".NaN" : "") +
                           (signs ? ".xorsign.abs" : "") + ".f32 %r0, %r1, %r2";
  auto operand = [&](size_t k) { return signs && l.slot(k)->absolute ? l.raw(k) : l.word(k, As::kF32); };
  const uint32_t a = operand(1), b = operand(2);
  return l.choose(3, "min" + mods, "max" + mods, a, b);
}

// a + b; one of them with a minus is a difference, whose bits are those.
bool lower_sum(SassLowering& l, const std::string& suffix) {
  const auto is_taken_off = [&](size_t k) {
    const sass::Operand& o = *l.slot(k);
    return o.minus && !o.absolute && !is_literal(&o);
  };
  const size_t b = is_taken_off(1) ? 1 : 2, a = 3 - b;
  if (!is_taken_off(b) || is_taken_off(a))
    return l.ptx("add" + suffix + ".f32 %r0, %r1, %r2",
                 {l.result(0), l.word(1, As::kF32), l.word(2, As::kF32)});
  return l.ptx("sub" + suffix + ".f32 %r0, %r1, %r2", {l.result(0), l.word(a, As::kF32), l.raw(b)});
}

// M2 to D8: the product, then a power of two, as the PTX has it that ptxas makes one of.
bool lower_product(SassLowering& l, const std::string& suffix) {
  const std::string line = "mul" + suffix + ".f32 %r0, %r1, %r2";
  constexpr std::pair<const char*, uint32_t> kScales[] = {{"M2", 0x40000000}, {"M4", 0x40800000},
                                                          {"M8", 0x41000000}, {"D2", 0x3f000000},
                                                          {"D4", 0x3e800000}, {"D8", 0x3e000000}};
  const uint32_t a = l.word(1, As::kF32), b = l.word(2, As::kF32);
  for (const auto& [mod, scale] : kScales) {
    if (!l.has(mod)) continue;
    if (l.has("SAT")) return false;
    const uint32_t product = l.temporary(4);
    l.ptx(line, {product, a, b});
    return l.ptx(line, {l.result(0), product, l.constant(scale, 4)});
  }
  return l.ptx(line, {l.result(0), a, b});
}

// Two floats in 64 bits: a pair of registers (F32x2.HI_LO, the other way round LO_HI), or one float twice.
uint32_t float_pair(SassLowering& l, size_t k) {
  const sass::Operand& o = *l.slot(k);
  const bool twice = o.selector == "F32";
  const uint64_t number = l.in().words[0] >> 32;
  if (o.kind == sass::OperandKind::kInteger || o.kind == sass::OperandKind::kFloat)
    return l.constant(number << 32 | number, 8);
  if (!twice && o.selector != "F32x2.HI_LO" && o.selector != "F32x2.LO_HI") return kNoRegister;
  const bool uniform = o.kind == sass::OperandKind::kUniform, zero = o.index == sass::kZero;
  if (!uniform && o.kind != sass::OperandKind::kRegister) return kNoRegister;
  uint32_t low = l.reg(o.index, uniform), high = twice || zero ? low : l.reg(o.index + 1, uniform);
  if (o.selector == "F32x2.LO_HI") std::swap(low, high);
  const uint32_t out = l.temporary(8);
  l.ptx("mov.b64 %d0, {%r1, %r2}", {out, low, high});
  if (o.absolute) l.ptx("and.b64 %d0, %d0, 0x7fffffff7fffffff", {out});
  if (o.minus) l.ptx("xor.b64 %d0, %d0, 0x8000000080000000", {out});
  return out;
}

bool lower_two_floats(SassLowering& l, const std::string& name, size_t operands) {
  std::vector<uint32_t> places{l.temporary(8)};
  std::string line = name + ".f32x2 %d0";
  for (size_t k = 1; k <= operands; ++k) {
    places.push_back(float_pair(l, k));
    if (places.back() == kNoRegister) return false;
    line += ", %d" + std::to_string(k);
  }
  l.ptx(line, places);
  return l.give_pair(0, places[0]);
}

}  // namespace

bool lower_floats(SassLowering& l) {
  const std::string suffix = float_suffix(l);
  auto operand = [&](size_t k) { return l.word(k, As::kF32); };
  switch (l.opcode()) {
    case sass::Opcode::kFADD:
    case sass::Opcode::kUFADD:
      return lower_sum(l, suffix);
    case sass::Opcode::kFADD2:
      return lower_two_floats(l, "add" + suffix, 2);
    case sass::Opcode::kFMUL2:
      return lower_two_floats(l, "mul" + suffix, 2);
    case sass::Opcode::kFFMA2:
      return lower_two_floats(l, "fma" + suffix, 3);
    case sass::Opcode::kFMUL:
    case sass::Opcode::kUFMUL:
      return lower_product(l, suffix);
    case sass::Opcode::kFFMA:
    case sass::Opcode::kUFFMA:
      return l.ptx("fma" + suffix + ".f32 %r0, %r1, %r2, %r3",
                   {l.result(0), operand(1), operand(2), operand(3)});
    case sass::Opcode::kFMNMX:
      return lower_float_extremum(l);
    case sass::Opcode::kFMNMX3: {  // of two, then with the third
      const sass::Operand& p = *l.slot(4);
      if (p.index != sass::kTrue) return false;
      const std::string line = std::string(p.inverted ? "max" : "min") + (l.has("FTZ") ? ".ftz" : "") +
                               (l.has("NAN") ? ".NaN" : "") + ".f32 %r0, %r1, %r2";
      const uint32_t first = l.temporary(4);
      l.ptx(line, {first, operand(1), operand(2)});
      return l.ptx(line, {l.result(0), first, operand(3)});
    }
    case sass::Opcode::kFSEL:
    case sass::Opcode::kUFSEL:
      return l.select(l.result(0), 3, operand(1), operand(2));
    case sass::Opcode::kFSET: {
      const uint32_t holds = l.temporary(1);
      l.ptx("setp" + compared_by(l) + ".f32 %p0, %r1, %r2, %p3",
            {holds, operand(1), operand(2), l.predicate(3)});
      return l.ptx(
          "selp.b32 %r0, %r1, %r2, %p3",
          {l.result(0), l.constant(l.has("BF") ? 0x3f800000 : 0xffffffff, 4), l.constant(0, 4), holds});
    }
    case sass::Opcode::kFSETP:
    case sass::Opcode::kUFSETP:
      return l.compare(compared_by(l), ".f32", 'r', operand(2), operand(3), 4);
    default:
      return false;
  }
}

}  // namespace triton_runner::simt
