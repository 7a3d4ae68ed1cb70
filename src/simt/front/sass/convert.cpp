// Lowers conversions, and the unit of approximated functions (MUFU), as lines of PTX with the types that the
// suffixes name.
#include <algorithm>

#include <triton_runner/lanes/functions.h>

#include "front/sass/handlers.h"
#include "front/sass/lower.h"

namespace triton_runner::simt {
namespace {

constexpr std::string_view kFloats[] = {"F64", "F32", "F16", "BF16"},
                           kBytes[] = {"E4M3", "E5M2", "E2M1", "E2M3", "E3M2", "E8"};
constexpr std::string_view kWholes[] = {"U8",  "S8",  "U16", "S16", "U32", "S32",
                                        "U64", "S64", "U4",  "S4",  "U2",  "S2"};

// The k-th suffix that is a type, as PTX calls it; "" without one.
std::string type_of(const SassLowering& l, size_t k, std::span<const std::string_view> types) {
  for (std::string_view mod : l.in().mods)
    if (std::find(types.begin(), types.end(), mod) != types.end() && k-- == 0) return lower_case(mod);
  return "";
}

std::string whole_rounding(const SassLowering& l) {
  return l.has("TRUNC") ? ".rzi" : l.has("FLOOR") ? ".rmi" : l.has("CEIL") ? ".rpi" : ".rni";
}

uint32_t bytes_of(std::string_view type) {
  if (type.ends_with("64")) return 8;
  return type.ends_with("32") ? 4 : type.ends_with("16") ? 2 : 1;
}
// The name of a place of a type in a line of PTX.
std::string place(std::string_view type, int k) {
  const uint32_t bytes = bytes_of(type);
  return std::string(" %") + (bytes == 8 ? 'd' : bytes == 2 ? 'h' : 'r') + std::to_string(k);
}

// The operand's half (H0_H0, H1), byte (B1) or whole, in the lowest bits of a place.
uint32_t part(SassLowering& l, size_t k, As as = As::kInteger) {
  const sass::Operand& o = *l.slot(k);
  if (o.selector.empty() || o.kind == sass::OperandKind::kConstant) return l.word(k, as);
  uint32_t shift = 0;
  if (o.selector.starts_with("H1"))
    shift = 16;
  else if (o.selector.starts_with('B') && o.selector.size() == 2)
    shift = 8 * static_cast<uint32_t>(o.selector[1] - '0');
  else if (!o.selector.starts_with("H0"))
    return l.raw(k);
  const uint32_t out = l.temporary(4);
  l.ptx("shr.u32 %r0, %r1, " + std::to_string(shift),
        {out, l.reg(o.index, o.kind == sass::OperandKind::kUniform)});
  return out;
}

// The operand as a place of the type, which may be a half of a register or a pair of them; its - and | | are the type's.
uint32_t source(SassLowering& l, size_t k, std::string_view type) {
  const sass::Operand& o = *l.slot(k);
  if (bytes_of(type) == 8) return type == "f64" ? l.pair(k, As::kF64) : l.pair(k);
  if (type[0] == 's' || type[0] == 'u') {
    const uint32_t whole = part(l, k);
    if (bytes_of(type) != 2) return whole;
    const uint32_t out = l.temporary(2);
    l.ptx("cvt.u16.u32 %h0, %r1", {out, whole});
    return out;
  }
  if (bytes_of(type) == 4) return l.word(k, As::kF32);
  uint32_t whole = o.selector.empty() ? l.raw(k) : part(l, k);
  if (o.absolute || o.minus) {
    const uint32_t out = l.temporary(4);
    if (o.absolute) l.ptx("and.b32 %r0, %r1, 0x7fff", {out, whole}), whole = out;
    if (o.minus) l.ptx("xor.b32 %r0, %r1, 0x8000", {out, whole});
    whole = out;
  }
  const uint32_t out = l.temporary(2);
  l.ptx("cvt.u16.u32 %h0, %r1", {out, whole});
  return out;
}

// line + " d, a" with the place of the result's type; what is narrower than a register fills it up with zeros.
bool convert(SassLowering& l, const std::string& line, const std::string& to, const std::string& from) {
  const uint32_t a = source(l, 1, from), bytes = bytes_of(to);
  const uint32_t d = bytes == 8 || bytes == 2 ? l.temporary(bytes) : l.result(0);
  l.ptx(line + "." + to + "." + from + place(to, 0) + "," + place(from, 1), {d, a});
  if (bytes == 8) return l.give_pair(0, d);
  return bytes != 2 ||
         l.ptx(std::string(to[0] == 's' ? "cvt.s32.s16" : "cvt.u32.u16") + " %r0, %h1", {l.result(0), d});
}

std::string or_else(std::string type, const char* other) { return type.empty() ? other : type; }

bool lower_from_whole(SassLowering& l) {
  return convert(l, "cvt" + rounding(l), or_else(type_of(l, 0, kFloats), "f32"),
                 or_else(type_of(l, 0, kWholes), "s32"));
}

bool lower_to_whole(SassLowering& l) {
  return convert(l, "cvt" + whole_rounding(l) + (l.has("FTZ") ? ".ftz" : ""),
                 or_else(type_of(l, 0, kWholes), "s32"), or_else(type_of(l, 0, kFloats), "f32"));
}

// F2F of a number that is negated. A NaN keeps its sign, as an H200's do.
bool lower_negated(SassLowering& l, const std::string& line, const std::string& to) {
  const uint32_t a = l.raw(1), sign = l.temporary(4), negated = l.temporary(4), d = l.temporary(8);
  const bool absolute = l.slot(1)->absolute;
  l.ptx("and.b32 %r0, %r1, 0x7fffffff", {sign, a});
  if (absolute) l.copy(negated, sign, 4);
  l.ptx("sub.s32 %r0, 0x7f800000, %r1", {sign, sign});  // negative: a NaN
  l.ptx("not.b32 %r0, %r1", {sign, sign});
  l.ptx("and.b32 %r0, %r1, 0x80000000", {sign, sign});
  l.ptx("xor.b32 %r0, %r1, %r2", {negated, absolute ? negated : a, sign});
  l.ptx(line + "." + to + ".f32" + place(to, 0) + "," + place("f32", 1), {d, negated});
  return l.give_pair(0, d);
}

bool lower_between_floats(SassLowering& l) {
  const std::string to = type_of(l, 0, kFloats), from = type_of(l, 1, kFloats);
  if (to.empty() || from.empty()) return false;
  const bool widens = bytes_of(to) > bytes_of(from);
  if (from == "f32" && bytes_of(to) == 8 && l.slot(1)->minus)
    return lower_negated(l, std::string("cvt") + (l.has("FTZ") ? ".ftz" : ""), to);
  return convert(l, "cvt" + (widens ? "" : rounding(l)) + (l.has("FTZ") ? ".ftz" : ""), to, from);
}

bool lower_round(SassLowering& l) {
  const std::string type = or_else(type_of(l, 0, kFloats), "f32");
  return convert(l, "cvt" + whole_rounding(l) + (l.has("FTZ") ? ".ftz" : ""), type, type);
}

bool is_rz(const sass::Operand& o) {
  return o.kind == sass::OperandKind::kRegister && o.index == sass::kZero;
}

// Two of cvt.rs's four numbers. C has the random bits where PTX has those of the first two, and goes up by what is packed, so
// that a second instruction finds those of the other two there.
bool lower_stochastic_bytes(SassLowering& l, const std::string& line, const std::string& small) {
  const bool nibbles = small == "e2m1";
  const uint32_t a = l.word(1, As::kF32), b = l.word(2, As::kF32), c = l.word(3), low = l.temporary(4),
                 four = l.temporary(nibbles ? 2 : 4);
  l.ptx(line + "." + small + "x4.f32" + place(nibbles ? "b16" : "b32", 0) + ", {%r1, %r2, %r1, %r2}, %r3",
        {four, a, b, c});
  if (nibbles)
    l.ptx("cvt.u32.u16 %r0, %h1", {low, four});
  else
    l.copy(low, four, 4);
  l.ptx("shr.u32 %r0, %r0, " + std::to_string(nibbles ? 8 : 16), {low});
  return l.ptx(std::string("prmt.b32 %r0, %r1, %r2, ") + (nibbles ? "0x6540" : "0x5410"),
               {l.result(0), low, c});
}

// Two numbers of 8 bits, 6 or 4 in the lowest bits of a register, above them C; and back.
bool lower_pack_bytes(SassLowering& l, const std::string& line, std::string small) {
  if (small == "e8") small = "ue8m0";
  const bool nibbles = small == "e2m1";
  const std::string half = l.has("BF16") ? "bf16" : "f16";
  if (l.has("UNPACK_B")) {
    // For e2m1 and for sixes two scale factors follow: ones.
    const bool scaled = l.shape() == 1 && (l.in().words[0] >> 32 & 0xffff) == 0x7f7f;
    if (l.shape() != 2 && !scaled) return false;
    const uint32_t whole = part(l, 1), pair = l.temporary(nibbles ? 1 : 2), unread = l.temporary(1);
    if (nibbles)
      l.ptx("mov.b32 {%b0, %b1, %b1, %b1}, %r2", {pair, unread, whole});
    else
      l.ptx("cvt.u16.u32 %h0, %r1", {pair, whole});
    return l.ptx(line + "." + half + "x2." + small + (nibbles ? "x2 %r0, %b1" : "x2 %r0, %h1"),
                 {l.result(0), pair});
  }
  const bool of_floats = l.has("PACK_AB_MERGE_C") && l.has("F32") && l.shape() == 0;
  if (l.has("RS")) return of_floats && lower_stochastic_bytes(l, line, small);
  const bool of_halves = l.has("UNPACK_B_MERGE_C") && l.shape() == 1 && !nibbles;
  if (!of_floats && !of_halves) return false;
  const uint32_t pair = l.temporary(nibbles ? 1 : 2), low = l.temporary(4);
  const std::string to = line + "." + small + "x2." + (of_floats ? "f32" : half + "x2");
  const std::string result = nibbles ? " %b0" : " %h0";
  if (of_floats)
    l.ptx(to + result + ", %r1, %r2", {pair, l.word(1, As::kF32), l.word(2, As::kF32)});
  else
    l.ptx(to + result + ", %r1",
          {pair, is_literal(l.slot(1)) ? l.constant(l.in().words[0] >> 32, 4) : l.word(1)});
  l.ptx(nibbles ? "cvt.u32.u8 %r0, %b1" : "cvt.u32.u16 %r0, %h1", {low, pair});
  return l.ptx(std::string("prmt.b32 %r0, %r1, %r2, ") + (nibbles ? "0x6540" : "0x5410"),
               {l.result(0), low, l.word(of_floats ? 3 : 2)});
}

// Two numbers, or one, as halves of a register.
bool lower_pack(SassLowering& l) {
  const std::string small = type_of(l, 0, kBytes), half = l.has("BF16") ? "bf16" : "f16";
  std::string line = "cvt" + rounding(l);
  if (l.has("SATFINITE")) line += ".satfinite";
  if (l.has("RELU")) line += ".relu";
  if (!small.empty()) return lower_pack_bytes(l, line, small);
  if (l.has("TF32") && l.shape() == 2) {
    return l.ptx(line + ".tf32.f32 %r0, %r1", {l.result(0), l.word(1, As::kF32)});
  }
  if (l.has("MERGE_C")) {
    if (l.shape() != 1 || !is_rz(*l.slot(2))) return false;
    return convert(l, line, half, "f32");
  }
  if (l.has("PACK_AB") && l.has("RS") && l.shape() == 0) {
    return l.ptx(line + "." + half + "x2.f32 %r0, %r1, %r2, %r3",
                 {l.result(0), l.word(1, As::kF32), l.word(2, As::kF32), l.word(3)});
  }
  if (!l.has("PACK_AB") || l.has("RS") || l.shape() != 1) return false;
  return l.ptx(line + "." + half + "x2.f32 %r0, %r1, %r2",
               {l.result(0), l.word(1, As::kF32), l.word(2, As::kF32)});
}

// Two whole numbers, saturated, as bytes below those of C, or as halves; `rounds`: of two floats.
template <bool rounds>
bool lower_pack_wholes(SassLowering& l) {
  const std::string to = type_of(l, 0, kWholes), from = rounds ? "s32" : type_of(l, 1, kWholes);
  uint32_t a = l.word(1, rounds ? As::kF32 : As::kInteger), b = l.word(2, rounds ? As::kF32 : As::kInteger);
  if (to.empty() || from.empty()) return false;
  for (uint32_t* one : {&a, &b}) {
    if (!rounds) break;
    const uint32_t whole = l.temporary(4);
    l.ptx("cvt" + whole_rounding(l) + ".s32.f32 %r0, %r1", {whole, *one});
    *one = whole;
  }
  const std::string line = "cvt.pack.sat." + to + "." + from;
  // R6.24: so many of its lowest bits stay, above the two that are packed, as in PTX.
  const sass::Operand& rest = *l.slot(3);
  if (bytes_of(to) == 1)
    return l.ptx(line + ".b32 %r0, %r1, %r2, %r3",
                 {l.result(0), a, b, rest.selector.empty() ? l.word(3) : l.reg(rest.index)});
  return l.ptx(line + " %r0, %r1, %r2", {l.result(0), a, b});
}

bool lower_function(SassLowering& l) {
  const std::string type = l.has("BF16") ? "bf16" : l.has("F16") ? "f16" : "f32";
  if (l.has("RCP64H") || l.has("RSQ64H")) {
    const uint32_t wide = l.temporary(8), unread = l.temporary(4);
    l.ptx("mov.b64 %d0, {%r1, %r2}", {wide, l.constant(0, 4), l.word(1, As::kF32)});
    l.ptx(std::string(l.has("RCP64H") ? "rcp" : "rsqrt") + ".approx.ftz.f64 %d0, %d1", {wide, wide});
    return l.ptx("mov.b64 {%r0, %r1}, %d2", {unread, l.result(0), wide});
  }
  if (l.has("SIN") || l.has("COS")) {
    const uint32_t a = l.word(1, As::kF32), d = l.result(0);
    return l.emit(lanes::find(l.has("SIN") ? lanes::Operation::kSin : lanes::Operation::kCos,
                              lanes::Type::kF32, lanes::Type::kNone, lanes::kVTurns),
                  {.d = d, .a = a});
  }
  const char* name = l.has("EX2")    ? "ex2"
                     : l.has("LG2")  ? "lg2"
                     : l.has("RCP")  ? "rcp"
                     : l.has("RSQ")  ? "rsqrt"
                     : l.has("SQRT") ? "sqrt"
                     : l.has("TANH") ? "tanh"
                                     : nullptr;
  if (!name) return false;
  for (const char* pair : {"F16x2", "BF16x2"}) {
    if (!l.has(pair)) continue;
    if (l.shape() == 1 && !(is_literal(l.slot(1)) && is_literal(l.slot(2)))) return false;
    uint32_t both = l.shape() == 1 ? l.constant(l.in().words[0] >> 32, 4) : l.raw(1);
    if (l.slot(1)->absolute) l.ptx("and.b32 %r0, %r1, 0x7fff7fff", {l.result(0), both}), both = l.result(0);
    if (l.slot(1)->minus) l.ptx("xor.b32 %r0, %r1, 0x80008000", {l.result(0), both}), both = l.result(0);
    const char* ftz = pair[0] == 'B' && l.has("EX2") ? ".ftz." : ".";
    return l.ptx(name + std::string(".approx") + ftz + lower_case(pair) + " %r0, %r1", {l.result(0), both});
  }
  if (l.shape() == 1) return false;
  const bool flushes = type != "f16" && !l.has("TANH");
  const uint32_t a = source(l, 1, type), d = type == "f32" ? l.result(0) : l.temporary(2);
  l.ptx(name + std::string(".approx") + (flushes ? ".ftz." : ".") + type + place(type, 0) + "," +
            place(type, 1),
        {d, a});
  if (type != "f32") l.ptx("cvt.u32.u16 %r0, %h1", {l.result(0), d});
  return true;
}

// Halves (one operand, or two of a product) and a float.
bool lower_mixed(SassLowering& l) {
  const bool fuses = l.opcode() == sass::Opcode::kFHFMA;
  const std::string half = l.has("BF16") ? "bf16" : "f16";
  const std::string line =
      (fuses ? "fma" : "add") + rounding(l) + (l.has("SAT") ? ".sat" : "") + ".f32." + half;
  if (fuses)
    return l.ptx(line + " %r0, %h1, %h2, %r3",
                 {l.result(0), source(l, 1, half), source(l, 2, half), l.word(3, As::kF32)});
  return l.ptx(line + " %r0, %h1, %r2", {l.result(0), source(l, 1, half), l.word(2, As::kF32)});
}

// P: a / b is not to be computed by Newton's steps in f32. Hardware may know of more such that are.
bool lower_division_check(SassLowering& l) {
  return l.emit(check_division,
                {.d = l.predicate_result(0), .a = l.word(1, As::kF32), .b = l.word(2, As::kF32)});
}

// A narrow result has zeros above it.
bool lower_between_wholes(SassLowering& l) {
  const std::string to = type_of(l, 0, kWholes), from = type_of(l, 1, kWholes);
  if (bytes_of(to) > 2 || from.empty() || !l.has("SAT")) return false;
  l.ptx("cvt.sat." + to + "." + from + " %r0, %r1", {l.result(0), part(l, 1)});
  return l.ptx("and.b32 %r0, %r1, " + std::string(bytes_of(to) == 1 ? "0xff" : "0xffff"),
               {l.result(0), l.result(0)});
}

}  // namespace

bool lower_convert(SassLowering& l) {
  using enum sass::Opcode;
  static constexpr SassRow kRows[] = {{lower_between_floats, {kF2F}},
                                      {lower_pack, {kF2FP, kUF2FP}},
                                      {lower_to_whole, {kF2I, kUF2I}},
                                      {lower_division_check, {kFCHK}},
                                      {lower_mixed, {kFHADD, kFHFMA}},
                                      {lower_round, {kFRND}},
                                      {lower_from_whole, {kI2F, kI2FP, kUI2F, kUI2FP}},
                                      {lower_between_wholes, {kI2I}},
                                      {lower_pack_wholes<true>, {kF2IP}},
                                      {lower_pack_wholes<false>, {kI2IP}},
                                      {lower_function, {kMUFU}}};
  return lower_by(l, kRows);
}

}  // namespace triton_runner::simt
