// Lowers products of warp groups. gdesc[UR8] are four registers: the descriptor of A (nothing where A is in
// registers), that of B, as PTX has them. gsb0 commits the products that were issued so far as a group.
#include "front/sass/lower.h"

#include <algorithm>
#include <cstdlib>

namespace triton_runner::simt {
namespace {

struct Product {
  uint32_t n = 0, k = 0;
  std::string d = "f32", a = "f16", b = "f16";
  bool transposes = true;  // a product whose operands may be transposed
};

bool product_of(const SassLowering& l, Product& p) {
  std::vector<std::string> types;
  for (std::string_view mod : l.in().mods) {
    if (mod.starts_with("64x")) {
      char* rest = nullptr;
      p.n = static_cast<uint32_t>(std::strtoul(mod.data() + 3, &rest, 10));
      p.k = static_cast<uint32_t>(std::strtoul(rest + 1, nullptr, 10));
    }
    if (mod == "S8" || mod == "U8" || mod == "E4M3" || mod == "E5M2") types.push_back(lower_case(mod));
  }
  if (p.n == 0 || p.n > 256) return false;
  if (l.opcode() != sass::Opcode::kHGMMA) {
    if (types.size() != 2) return false;
    p.a = types[0], p.b = types[1], p.transposes = false;
    if (l.opcode() == sass::Opcode::kIGMMA) p.d = "s32";
  }
  if (l.has("F16")) p.d = "f16";
  if (l.has("BF16")) p.a = p.b = "bf16";
  if (l.has("TF32")) p.a = p.b = "tf32", p.transposes = false;
  return true;
}

bool lower_group_product(SassLowering& l) {
  // D, A where it is in registers, gdesc, C, a predicate: whether C is added, metadata and selector, gsb0.
  Product p;
  if (!product_of(l, p)) return false;
  const size_t at = l.shape() == 1 ? 2 : 1;
  const sass::Operand &d = *l.slot(0), &descriptors = *l.slot(at), &c = *l.slot(at + 1);
  const sass::Operand *a = at == 2 ? l.slot(1) : nullptr, *metadata = l.slot(at + 3),
                      *selector = l.slot(at + 4);
  const sass::Operand* group = l.slot(at + 5);
  if (descriptors.space != "gdesc" || descriptors.parts.size() != 1) return false;
  if (l.has("SP") != (metadata && selector) || (group && group->selector != "gsb0")) return false;
  if (d.index == sass::kZero) {  // nothing but its gsb0
    if (!group) return false;
    return l.ptx("wgmma.commit_group.sync.aligned", {});
  }
  if (c.index != d.index && c.index != sass::kZero) return false;
  std::vector<uint32_t> places;
  auto named = [&](std::string_view letter, uint32_t place) {
    places.push_back(place);
    return std::string(letter) + std::to_string(places.size() - 1);
  };
  auto all_of = [&](uint32_t first, uint32_t count) {
    std::string out = "{";
    for (uint32_t k = 0; k < count; ++k) out += (k ? ", " : "") + named("%r", l.reg(first + k));
    return out + "}";
  };
  auto descriptor = [&](uint32_t index) { return named("%d", l.pair_from(index, true)); };
  const sass::Operand& first = descriptors.parts[0];
  if (first.kind != sass::OperandKind::kUniform || first.index == sass::kZero) return false;
  bool turns_a = false, turns_b = false;
  for (std::string_view rest = descriptors.selector; !rest.empty();) {
    const size_t end = std::min(rest.find('.'), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word == "tnspA")
      turns_a = true;
    else if (word == "tnspB")
      turns_b = true;
    else
      return false;
  }
  if (a && (a->kind != sass::OperandKind::kRegister || a->inverted || a->absolute || a->selector != "" ||
            a->index == sass::kZero))
    return false;
  std::string line =
      l.has("SP") ? "wgmma.mma_async.sp.sync.aligned.m64n" : "wgmma.mma_async.sync.aligned.m64n";
  line += std::to_string(p.n) + "k" + std::to_string(p.k) + (l.has("SAT") ? ".satfinite" : "") + "." + p.d +
          "." + p.a + "." + p.b + " " + all_of(d.index, p.n / (p.d == "f16" ? 4 : 2)) + ", ";
  line += a ? all_of(a->index, 4) : descriptor(first.index);
  line += ", " + descriptor(first.index + 2);
  if (metadata) line += ", " + named("%r", l.reg(metadata->index)) + ", " + std::to_string(selector->integer);
  const uint32_t adds = l.predicate(at + 2);
  if (c.index == sass::kZero &&
      !(l.slot(at + 2) && l.slot(at + 2)->index == sass::kTrue && l.slot(at + 2)->inverted))
    return false;
  line += ", " + named("%p", adds);
  if (p.d != "s32") line += std::string(a && a->minus ? ", -1" : ", 1") + ", 1";
  if (p.transposes && !a) line += turns_a ? ", 1" : ", 0";
  if (p.transposes) line += turns_b ? ", 1" : ", 0";
  if (!p.transposes && (turns_a || turns_b)) return false;
  l.ptx(line, places);
  if (group) l.ptx("wgmma.commit_group.sync.aligned", {});
  return true;
}

}  // namespace

bool lower_warpgroups(SassLowering& l) {
  switch (l.opcode()) {
    case sass::Opcode::kWARPGROUP_ARRIVE:
      return l.ptx("wgmma.fence.sync.aligned", {});
    case sass::Opcode::kWARPGROUP_DEPBAR:
      if (l.slot(0)->selector != "gsb0") return false;
      return l.ptx("wgmma.wait_group.sync.aligned " + std::to_string(l.slot(1)->integer), {});
    default:
      return lower_group_product(l);
  }
}

}  // namespace triton_runner::simt
