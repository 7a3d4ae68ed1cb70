// f32: PTX has each of these, under another name.
#include "sass/lower.h"

namespace triton_runner::simt {
namespace {

// ".rz.ftz.sat" of .RZ.FTZ.SAT; without a rounding, to the nearest.
std::string float_suffix(const SassLowering& l) {
  std::string out = l.has("RM") ? ".rm" : l.has("RP") ? ".rp" : l.has("RZ") ? ".rz" : ".rn";
  if (l.has("FTZ")) out += ".ftz";
  if (l.has("SAT")) out += ".sat";
  return out;
}

// p and, where there is one, q: a (slot k) compared with b, combined with a predicate.
void lower_float_compare(SassLowering& l, uint32_t p, uint32_t q, size_t k) {
  std::string line = "setp";
  for (std::string_view mod : l.in().mods)
    if (mod != "FTZ" && mod != "BF") (line += '.') += lower_case(mod);
  if (l.has("FTZ")) line += ".ftz";
  const uint32_t a = l.word(k, As::kF32), b = l.word(k + 1, As::kF32), with = l.predicate(k + 2);
  if (q == kNoRegister)
    l.ptx(line + ".f32 %p0, %r1, %r2, %p3", {p, a, b, with});
  else
    l.ptx(line + ".f32 %p0|%p1, %r2, %r3, %p4", {p, q, a, b, with});
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
  l.choose(3, "min" + mods, "max" + mods, a, b);
  return true;
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
    l.ptx(line, {l.result(0), product, l.constant(scale, 4)});
    return true;
  }
  l.ptx(line, {l.result(0), a, b});
  return true;
}

}  // namespace

bool lower_floats(SassLowering& l) {
  const std::string suffix = float_suffix(l);
  auto operand = [&](size_t k) { return l.word(k, As::kF32); };
  switch (l.opcode()) {
    case sass::Opcode::kFADD:
      l.ptx("add" + suffix + ".f32 %r0, %r1, %r2", {l.result(0), operand(1), operand(2)});
      return true;
    case sass::Opcode::kFMUL:
      return lower_product(l, suffix);
    case sass::Opcode::kFFMA:
      l.ptx("fma" + suffix + ".f32 %r0, %r1, %r2, %r3", {l.result(0), operand(1), operand(2), operand(3)});
      return true;
    case sass::Opcode::kFMNMX:
      return lower_float_extremum(l);
    case sass::Opcode::kFMNMX3: {  // of two, then with the third
      const sass::Operand& p = *l.slot(4);
      if (p.index != sass::kTrue) return false;
      const std::string line =
          std::string(p.inverted ? "max" : "min") + (l.has("FTZ") ? ".ftz" : "") + ".f32 %r0, %r1, %r2";
      const uint32_t first = l.temporary(4);
      l.ptx(line, {first, operand(1), operand(2)});
      l.ptx(line, {l.result(0), first, operand(3)});
      return true;
    }
    case sass::Opcode::kFSEL:
      l.ptx("selp.b32 %r0, %r1, %r2, %p3", {l.result(0), operand(1), operand(2), l.predicate(3)});
      return true;
    case sass::Opcode::kFSET: {
      const uint32_t holds = l.temporary(1);
      lower_float_compare(l, holds, kNoRegister, 1);
      l.ptx("selp.b32 %r0, %r1, %r2, %p3",
            {l.result(0), l.constant(l.has("BF") ? 0x3f800000 : 0xffffffff, 4), l.constant(0, 4), holds});
      return true;
    }
    case sass::Opcode::kFSETP:
      lower_float_compare(l, l.predicate_result(0), l.predicate_result(1), 2);
      return true;
    default:
      return false;
  }
}

}  // namespace triton_runner::simt
