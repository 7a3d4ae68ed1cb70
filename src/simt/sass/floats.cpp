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

bool lower_float_setp(SassLowering& l) {
  std::string line = "setp";
  for (std::string_view mod : l.in().mods)
    if (mod != "FTZ") (line += '.') += lower_case(mod);
  if (l.has("FTZ")) line += ".ftz";
  l.ptx(line + ".f32 %p0|%p1, %r2, %r3, %p4", {l.predicate_result(0), l.predicate_result(1),
                                               l.word(2, As::kF32), l.word(3, As::kF32), l.predicate(4)});
  return true;
}

bool lower_float_extremum(SassLowering& l) {
  const std::string mods =
      std::string(l.has("FTZ") ? ".ftz" : "") + (l.has("NAN") ? ".NaN" : "") + ".f32 %r0, %r1, %r2";
  const uint32_t a = l.word(1, As::kF32), b = l.word(2, As::kF32);
  l.choose(3, "min" + mods, "max" + mods, a, b);
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
      l.ptx("mul" + suffix + ".f32 %r0, %r1, %r2", {l.result(0), operand(1), operand(2)});
      return true;
    case sass::Opcode::kFFMA:
      l.ptx("fma" + suffix + ".f32 %r0, %r1, %r2, %r3", {l.result(0), operand(1), operand(2), operand(3)});
      return true;
    case sass::Opcode::kFMNMX:
      return lower_float_extremum(l);
    case sass::Opcode::kFSEL:
      l.ptx("selp.b32 %r0, %r1, %r2, %p3", {l.result(0), operand(1), operand(2), l.predicate(3)});
      return true;
    case sass::Opcode::kFSETP:
      return lower_float_setp(l);
    default:
      return false;
  }
}

}  // namespace triton_runner::simt
