// Operands to registers: widths from the table, from suffixes, and for products of matrices from their shape.
#include <triton_runner/sass/registers.h>

#include <algorithm>
#include <charconv>

namespace triton_runner::sass {
namespace {

constexpr RegisterId kUniformFrom = 256, kUniformPredicateFrom = 520, kNone = 0xffff;

RegisterId id_of(OperandKind kind, uint32_t index) {
  switch (kind) {
    case OperandKind::kRegister:
      return index < kZero ? static_cast<RegisterId>(index) : kNone;
    case OperandKind::kUniform:
      return index < 63 ? static_cast<RegisterId>(kUniformFrom + index) : kNone;
    case OperandKind::kPredicate:
      return index < kTrue ? static_cast<RegisterId>(kPredicateFrom + index) : kNone;
    case OperandKind::kUniformPredicate:
      return index < kTrue ? static_cast<RegisterId>(kUniformPredicateFrom + index) : kNone;
    default:
      return kNone;
  }
}

void add(std::vector<RegisterId>& to, OperandKind kind, uint32_t index, uint32_t count = 1) {
  for (uint32_t i = 0; i < count; ++i)
    if (const RegisterId id = id_of(kind, index + i); id != kNone && index < kZero) to.push_back(id);
}

void add_operand(std::vector<RegisterId>& to, const Instruction& in, const Operand& o, uint32_t count) {
  if (o.kind == OperandKind::kAddress || o.kind == OperandKind::kConstant) {
    const bool wide = o.space == "desc" || in.name == "LDG" || in.name == "STG" || in.name == "LD" ||
                      in.name == "ST" || in.name == "ATOMG" || in.name == "ATOM" || in.name == "RED" ||
                      in.name == "REDG" || in.name == "QSPC";
    if (o.space == "gdesc") count = in.name.ends_with("GMMA") ? 4 : 2;  // of both matrices, or of one
    if (o.descriptor) add(to, OperandKind::kUniform, *o.descriptor, o.space == "desc" ? 2 : 1);
    for (const Operand& part : o.parts) {
      const bool is_pair = part.selector == "64" || (wide && part.selector.empty() && in.has("E") &&
                                                     part.kind == OperandKind::kRegister && !o.descriptor);
      add(to, part.kind, part.index, o.space == "gdesc" ? count : is_pair ? 2 : 1);
    }
    return;
  }
  add(to, o.kind, o.index, count);
}

struct Shape {
  std::string_view mod;
  uint32_t m, k;
};
constexpr Shape kShapes[] = {{"884", 8, 4},       {"8x8x4", 8, 4},     {"16x8x4", 16, 4},  {"16x8x8", 16, 8},
                             {"16x8x16", 16, 16}, {"1684", 16, 4},     {"1688", 16, 8},    {"16816", 16, 16},
                             {"16832", 16, 32},   {"16864", 16, 64},   {"8816", 8, 16},    {"8832", 8, 32},
                             {"88128", 8, 128},   {"168128", 16, 128}, {"168256", 16, 256}};

// Registers of operand k of a product of a warp: d, a, b, c; metadata, scale factors.
uint32_t of_product(const Instruction& in, size_t slot) {
  const auto [m, n, k] = product_of(in);
  uint32_t bits = 16;
  if (in.name == "BMMA") bits = 1;
  if (in.name == "IMMA" || in.name == "QMMA") bits = 8;
  if (in.has("S4") || in.has("U4")) bits = 4;
  if (in.has("TF32")) bits = 32;
  if (in.name == "DMMA") bits = 64;
  const uint32_t sum_bits = in.name == "DMMA" ? 64 : in.has("F16") && !in.has("F32") ? 16 : 32;
  if (in.name == "OMMA") bits = 4;
  const uint32_t sparse = in.has("SP") ? 2 : 1;
  if (slot == 4 && in.has("SP") && in.has("SF")) return 2;  // metadata and the scale factors of A
  const uint32_t bits_of[] = {m * n * sum_bits, m * k * bits / sparse, k * n * bits, m * n * sum_bits};
  return slot < 4 ? std::max(1u, bits_of[slot] / 1024) : 1;
}

// Registers of a product of a warp group, which are 128 threads: the sums, and A where it is in registers.
uint32_t of_group_product(const Instruction& in, const Matched& matched, size_t slot) {
  const size_t descriptors = matched.shape + 1;  // D, A?, gdesc, C
  if (slot == 0 || slot == descriptors + 1) {
    for (std::string_view mod : in.mods) {
      uint32_t n = 0;
      if (!mod.starts_with("64x")) continue;
      std::from_chars(mod.data() + 3, mod.data() + mod.size(), n);
      return std::max(1u, n / (in.has("F16") && !in.has("F32") ? 4 : 2));
    }
  }
  return slot == 1 && descriptors == 2 ? 4 : 1;  // 64 rows of 32 bytes
}

bool is_wide(std::string_view type) { return type == "F64" || type == "S64" || type == "U64"; }

// Conversions name the type of the result, then that of the operand.
uint32_t of_conversion(const Instruction& in, bool written) {
  std::vector<std::string_view> wide;
  for (std::string_view mod : in.mods)
    if (is_wide(mod)) wide.push_back(mod);
  if (wide.empty()) return 1;
  if (wide.size() == 2 || in.name == "FRND") return 2;
  const bool of_result = in.name == "F2F"
                             ? in.mods[0] == wide[0] || (in.mods[0] == "FTZ" && in.mods[1] == wide[0])
                         : in.name == "I2F" ? wide[0] == "F64"
                                            : wide[0] != "F64";
  return of_result == written ? 2 : 1;
}

uint32_t width(const Instruction& in, const Matched& matched, size_t k) {
  const std::string_view family = matched.row->family;
  if (family == "convert")
    return in.name == "MUFU" || in.name == "FCHK" ? 1 : of_conversion(in, matched.written[k]);
  if (in.name.ends_with("MMA") && family == "matrices") return of_product(in, k);
  if (in.name.ends_with("GMMA")) return of_group_product(in, matched, k);
  if (matched.slots[k]->selector == "F32") return 1;  // FADD2, FMUL2, FFMA2: one float for both
  if (in.name == "LDSM" || in.name == "STSM")
    return (in.has("4") ? 4 : in.has("2") ? 2 : 1) * (in.has("MT1616") ? 2 : 1);
  if (family == "atomics" || in.name == "SYNCS") return std::max<uint32_t>(1, matched.registers[k]);
  return std::max<uint32_t>(1, matched.registers[k]);
}

}  // namespace

Product product_of(const Instruction& in) {
  Product out{8, 8, 4};
  for (const Shape& s : kShapes)
    if (in.has(s.mod)) out.m = s.m, out.k = s.k;
  return out;
}

std::string name_of(RegisterId reg) {
  if (reg >= kUniformPredicateFrom) return "UP" + std::to_string(reg - kUniformPredicateFrom);
  if (reg >= kPredicateFrom) return "P" + std::to_string(reg - kPredicateFrom);
  if (reg >= kUniformFrom) return "UR" + std::to_string(reg - kUniformFrom);
  return "R" + std::to_string(reg);
}

Registers registers_of(const Module& module, const Instruction& in) {
  Registers out;
  if (in.guard) add_operand(out.reads, in, *in.guard, 1);
  const auto matched = match(module, in);
  if (!matched) {
    for (const Operand& o : in.operands)
      if (o.kind != OperandKind::kAddress && o.kind != OperandKind::kConstant)
        add_operand(out.writes, in, o, 4);
    return out;
  }
  out.known = true;
  out.later = matched->row->family == "warpgroups";
  for (size_t k = 0; k < kMaxSlots; ++k)
    if (const Operand* o = matched->slots[k])
      add_operand(matched->written[k] ? out.writes : out.reads, in, *o, width(in, *matched, k));
  if (in.name == "R2P") {  // P0 to P6, as its mask says
    out.known = false;
    for (uint32_t p = 0; p < kTrue; ++p) add(out.writes, OperandKind::kPredicate, p);
  }
  return out;
}

}  // namespace triton_runner::sass
