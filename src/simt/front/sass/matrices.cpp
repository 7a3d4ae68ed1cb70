// Lowers matrices of warps: LDSM, STSM, MOVM, and products. Fragments are those of PTX's mma.sync, in
// neighbouring registers. Products of warp groups are in warpgroups.cpp, those of tensor memory in
// tensors.cpp.
#include "front/sass/lower.h"

#include <algorithm>

namespace triton_runner::simt {
namespace {

// "{%r4, %r5}", and the places that it names.
std::string list(std::vector<uint32_t>& places, const std::vector<uint32_t>& more,
                 std::string_view letter = "%r") {
  std::string out = "{";
  for (uint32_t place : more) {
    if (out.size() > 1) out += ", ";
    out += std::string(letter) + std::to_string(places.size());
    places.push_back(place);
  }
  return out + "}";
}

bool lower_shared_matrices(SassLowering& l, bool load) {
  const sass::Operand& where = *l.slot(load ? 1 : 0);
  const uint32_t count = l.has("4") ? 4 : l.has("2") ? 2 : 1, each = l.has("MT1616") ? 2 : 1;
  std::vector<uint32_t> places{l.address(where, false)};
  if (places[0] == kNoRegister) return false;
  const std::string registers = list(places, l.registers(load ? 0 : 1, count * each, load));
  const std::string address = "[%r0" + SassLowering::offset_text(where) + "]";
  const std::string shape = each == 2        ? ".m16n16.x"
                            : l.has("M816")  ? ".m8n16.x"
                            : l.has("MT168") ? ".m16n8.x"
                                             : ".m8n8.x";
  const std::string type = l.has("U4x16P64TO8")   ? "b8x16.b4x16_p64 "
                           : l.has("U6x16P32TO8") ? "b8x16.b6x16_p32 "
                           : l.has("8")           ? "b8 "
                                                  : "b16 ";
  std::string line = (load ? "ldmatrix.sync.aligned" : "stmatrix.sync.aligned") + shape;
  line += std::to_string(count) + (l.has("MT88") || l.has("MT168") || each == 2 ? ".trans" : "") +
          ".shared." + type;
  return l.ptx(line + (load ? registers + ", " + address : address + ", " + registers), places);
}

// The factors of a product.
struct Shape {
  uint32_t m = 0, k = 0, bits = 16;  // of an element of A and B
  std::string d = "f32", a = "f16", b = "f16";
  std::string after;  // ".and.popc"
};

struct Dimensions {
  std::string_view mod;
  uint32_t m, k;
};
constexpr Dimensions kDimensions[] = {
    {"884", 8, 4},   {"8x8x4", 8, 4}, {"16x8x4", 16, 4}, {"16x8x8", 16, 8},   {"16x8x16", 16, 16},
    {"1684", 16, 4}, {"1688", 16, 8}, {"16816", 16, 16}, {"16832", 16, 32},   {"16864", 16, 64},
    {"8816", 8, 16}, {"8832", 8, 32}, {"88128", 8, 128}, {"168128", 16, 128}, {"168256", 16, 256}};

// The suffixes that name types of A and B, in order.
std::vector<std::string> types_of(const SassLowering& l) {
  std::vector<std::string> out;
  for (std::string_view mod : l.in().mods)
    if (mod == "S8" || mod == "U8" || mod == "S4" || mod == "U4" || mod == "E4M3" || mod == "E5M2" ||
        mod == "E3M2" || mod == "E2M3" || mod == "E2M1")
      out.push_back(lower_case(mod));
  return out;
}

bool shape_of(const SassLowering& l, Shape& s) {
  for (const Dimensions& d : kDimensions)
    if (l.has(d.mod)) s.m = d.m, s.k = d.k;
  if (s.m == 0) return false;
  const std::vector<std::string> types = types_of(l);
  switch (l.opcode()) {
    case sass::Opcode::kBMMA:
      s = {s.m, s.k, 1, "s32", "b1", "b1", l.has("XOR") ? ".xor.popc" : ".and.popc"};
      return l.has("POPC");
    case sass::Opcode::kIMMA:
    case sass::Opcode::kIMMA_SP:
      if (types.size() != 2) return false;
      s.d = "s32", s.a = types[0], s.b = types[1];
      s.bits = s.a[1] == '8' ? 8 : 4;
      return true;
    case sass::Opcode::kOMMA_SF:
    case sass::Opcode::kOMMA_SF_SP:
    case sass::Opcode::kQMMA:
    case sass::Opcode::kQMMA_SF:
    case sass::Opcode::kQMMA_SF_SP:
    case sass::Opcode::kQMMA_SP:
      if (types.size() != 2) return false;
      s.d = l.has("F16") ? "f16" : "f32", s.a = types[0], s.b = types[1];
      s.bits = l.in().name == "OMMA" ? 4 : 8;
      return true;
    default:
      if (l.has("F16")) s.d = "f16";
      if (l.has("BF16")) s.a = s.b = "bf16";
      if (l.has("TF32")) s.a = s.b = "tf32", s.bits = 32;
      return true;
  }
}

bool is_plain(const SassLowering& l, size_t k, std::string_view selector) {
  const sass::Operand& o = *l.slot(k);
  return o.kind == sass::OperandKind::kRegister && !o.minus && !o.inverted && !o.absolute &&
         (o.selector == "" || o.selector == selector);
}

// Scale factors of A and B in slots `a` and `b`, and from which bytes and threads they are: bits 0 and 1 of a uniform
// register the byte of A's, bit 2 the thread; bits 3 and 4, 5 and 6 those of B's.
std::string scale_operands(SassLowering& l, std::vector<uint32_t>& places, uint32_t a, size_t b) {
  const uint32_t from = l.word(b + 1);
  std::string out;
  uint32_t bit = 0;
  for (const uint32_t factors : {a, l.word(b)}) {
    out += ", %r" + std::to_string(places.size());
    places.push_back(factors);
    std::vector<uint32_t> selectors;
    for (const uint32_t bits : {2u, bit == 0 ? 1u : 2u}) {
      const uint32_t word = l.temporary(4), half = selectors.emplace_back(l.temporary(2));
      l.ptx("bfe.u32 %r0, %r1, " + std::to_string(bit) + ", " + std::to_string(bits), {word, from});
      l.ptx("cvt.u16.u32 %h0, %r1", {half, word});
      bit += bits;
    }
    out += ", " + list(places, selectors, "%h");
  }
  return out;
}

// ".kind::mxf4nvf4.block_scale.scale_vec::4X" of a product with scale factors, and their type.
std::pair<std::string, std::string> scaled_kind(const SassLowering& l) {
  const bool nibbles = l.in().name == "OMMA";
  return {std::string(nibbles ? ".kind::mxf4nvf4" : ".kind::mxf8f6f4") + ".block_scale.scale_vec::" +
              (!nibbles      ? "1X"
               : l.has("4X") ? "4X"
                             : "2X"),
          l.has("UE4M3") ? ".ue4m3" : ".ue8m0"};
}

bool lower_product(SassLowering& l) {
  Shape s;
  if (!shape_of(l, s)) return false;
  if (!is_plain(l, 1, "ROW") || !is_plain(l, 2, "COL") || !is_plain(l, 3, "")) return false;
  const bool sparse = l.has("SP"), scaled = l.has("SF");
  const auto [kind, factors] = scaled ? scaled_kind(l) : std::pair<std::string, std::string>{};
  const uint32_t sums = s.d == "f16" ? s.m / 8 : s.m / 4;
  std::vector<uint32_t> places;
  const std::string d = list(places, l.registers(0, sums, true));
  const std::string a = list(places, l.registers(1, s.m / 8 * s.k * s.bits / 128 / (sparse ? 2 : 1)));
  const std::string b = list(places, l.registers(2, s.k * s.bits / 128));
  const std::string c = list(places, l.registers(3, sums));
  std::string line = sparse ? "mma.sp::ordered_metadata.sync.aligned.m" : "mma.sync.aligned.m";
  line += std::to_string(s.m) + "n8k" + std::to_string(s.k) + ".row.col" + kind +
          (l.has("SAT") ? ".satfinite" : "") + "." + s.d + "." + s.a + "." + s.b + "." + s.d + factors +
          s.after + " " + d + ", " + a + ", " + b + ", " + c;
  // Metadata, and the factors of A, are neighbours.
  std::vector<uint32_t> pair;
  if (sparse || scaled) pair = l.registers(4, sparse && scaled ? 2 : 1);
  if (sparse) {
    line += ", %r" + std::to_string(places.size()) + ", " + std::to_string(l.slot(scaled ? 7 : 5)->integer);
    places.push_back(pair[0]);
  }
  if (scaled) line += scale_operands(l, places, pair.back(), 5);
  return l.ptx(line, places);
}

// Products of f64: pairs of registers.
bool lower_double_product(SassLowering& l) {
  Shape s;
  if (!shape_of(l, s)) return false;
  for (size_t k = 1; k < 4; ++k)
    if (!is_plain(l, k, "")) return false;
  auto pairs = [&](size_t k, uint32_t count) {
    const std::vector<uint32_t> r = l.registers(k, 2 * count);
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < count; ++i) {
      out.push_back(l.temporary(8));
      l.ptx("mov.b64 %d0, {%r1, %r2}", {out[i], r[2 * i], r[2 * i + 1]});
    }
    return out;
  };
  const uint32_t sums = s.m / 4;
  std::vector<uint32_t> places, results;
  for (uint32_t i = 0; i < sums; ++i) results.push_back(l.temporary(8));
  const std::string d = list(places, results, "%d"), a = list(places, pairs(1, s.m / 8 * s.k / 4), "%d"),
                    b = list(places, pairs(2, s.k / 4), "%d"), c = list(places, pairs(3, sums), "%d");
  l.ptx("mma.sync.aligned.m" + std::to_string(s.m) + "n8k" + std::to_string(s.k) +
            ".row.col.f64.f64.f64.f64 " + d + ", " + a + ", " + b + ", " + c,
        places);
  const std::vector<uint32_t> r = l.registers(0, 2 * sums, true);
  for (uint32_t i = 0; i < sums; ++i) l.ptx("mov.b64 {%r0, %r1}, %d2", {r[2 * i], r[2 * i + 1], results[i]});
  return true;
}

}  // namespace

bool lower_matrices(SassLowering& l) {
  switch (l.opcode()) {
    case sass::Opcode::kDMMA:
      return lower_double_product(l);
    case sass::Opcode::kLDSM:
      return lower_shared_matrices(l, true);
    case sass::Opcode::kMOVM:
      if (!l.has("MT88")) return false;
      return l.ptx("movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1", {l.result(0), l.word(1)});
    case sass::Opcode::kSTSM:
      return lower_shared_matrices(l, false);
    default:
      return lower_product(l);
  }
}

}  // namespace triton_runner::simt
