// Finds the registers behind operands: widths come from the table, from suffixes, and for products of
// matrices from their shape.
#include <triton_runner/sass/registers.h>

#include <algorithm>
#include <charconv>

#include <triton_runner/base/text.h>
#include <triton_runner/sass/facts.h>
#include <triton_runner/sass/opcode.h>

namespace triton_runner::sass {
namespace {

using enum Trait;

constexpr std::pair<OperandKind, std::string_view> kFiles[] = {{OperandKind::kRegister, "R"},
                                                               {OperandKind::kUniform, "UR"},
                                                               {OperandKind::kPredicate, "P"},
                                                               {OperandKind::kUniformPredicate, "UP"}};

void add(std::vector<uint32_t>& to, OperandKind kind, uint32_t index, uint32_t count = 1) {
  if (kind > OperandKind::kUniformPredicate) return;
  const uint32_t end = kind < OperandKind::kPredicate ? kZero : kTrue;
  for (uint32_t i = index; i < std::min(index + count, end); ++i) to.push_back(register_code(kind, i));
}

void add_operand(std::vector<uint32_t>& to, const Instruction& in, const Operand& o, uint32_t count) {
  if (o.kind != OperandKind::kAddress && o.kind != OperandKind::kConstant)
    return add(to, o.kind, o.index, count);
  const bool is_matrix = o.space == "gdesc", has_plain_pair = in.does(kGlobal | kGeneric) && in.has("E") &&
                                                              !in.does(ptx::Effect::kCopies) && !o.descriptor;
  if (o.descriptor) add(to, OperandKind::kUniform, *o.descriptor, o.space == "desc" ? 2 : 1);
  for (const Operand& part : o.parts) {
    const bool is_pair = part.selector == "64" ||
                         (has_plain_pair && part.selector.empty() && part.kind == OperandKind::kRegister);
    // The descriptors of both matrices, or of one.
    add(to, part.kind, part.index, is_matrix ? product_of(in).of_group ? 4 : 2 : is_pair ? 2 : 1);
  }
}

// Registers of matrix number `slot` of a product of a warp: d, a, b, c.
uint32_t width_of_matrix(const Instruction& in, size_t slot) {
  const Product p = product_of(in);
  const bool has_halves = in.has("F16") && !in.has("F32");
  const uint32_t sum_bits = p.bits == 64 ? 64 : has_halves ? 16 : 32;
  const uint32_t sums = p.m * p.n * sum_bits;
  const uint32_t bits[] = {sums, p.m * p.k * p.bits / (in.has("SP") ? 2 : 1), p.k * p.n * p.bits, sums};
  return slot < std::size(bits) ? std::max(1u, bits[slot] / 1024) : 1;
}

// The width in a warp group's product (128 threads): D, A where it is in registers (64 rows of 32 bytes), C.
uint32_t width_of_group(const Instruction& in, size_t shape, size_t slot) {
  if (shape == 1 && slot == 1) return 4;
  return std::max(1u, product_of(in).n / (in.has("F16") && !in.has("F32") ? 4 : 2));
}

bool begins_with_f64(const Instruction& in) {
  for (std::string_view mod : in.mods)
    if (mod == "F64" || mod == "F32" || mod == "F16" || mod == "BF16") return mod == "F64";
  return false;
}

// The predicates that P2R, R2P and their kin read or write: their text has a name for all, and a mask. False: the mask is in a
// register.
bool add_named_predicates(Registers& to, const Instruction& in) {
  for (const Operand& o : in.operands) {
    if (o.selector != "PR" && o.selector != "UPR") continue;
    const Operand& mask = in.operands.back();
    const bool is_number = mask.kind == OperandKind::kInteger, has_mask = !in.is(Opcode::kUR2UP);
    const bool writes = in.is(Opcode::kR2P) || in.is(Opcode::kUR2UP);
    for (uint32_t p = 0; p < kTrue; ++p)
      if (!has_mask || !is_number || mask.integer >> p & 1)
        add(writes ? to.writes : to.reads,
            o.selector == "PR" ? OperandKind::kPredicate : OperandKind::kUniformPredicate, p);
    return is_number || !has_mask;
  }
  return true;
}

}  // namespace

uint32_t register_code(OperandKind kind, uint32_t index) { return static_cast<uint32_t>(kind) << 8 | index; }

std::string register_name(uint32_t code) {
  return std::string(kFiles[code >> 8].second) + std::to_string(code & 255);
}

std::optional<uint32_t> register_named(std::string_view name) {
  for (const auto& [kind, prefix] : kFiles) {
    if (!name.starts_with(prefix) || name.size() == prefix.size() || !base::is_digit(name[prefix.size()]))
      continue;
    uint32_t index = 0;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data() + prefix.size(), end, index).ptr == end && index < kZero)
      return register_code(kind, index);
  }
  return {};
}

OperandKind kind_of(uint32_t code) { return static_cast<OperandKind>(code >> 8); }
bool is_predicate(uint32_t code) { return kind_of(code) >= OperandKind::kPredicate; }

uint32_t width_of(const Instruction& in) {
  constexpr std::pair<std::string_view, uint32_t> kWidths[] = {
      {"128", 4},   {"96", 3},     {"64", 2},    {"S64", 2},        {"F64", 2},
      {"F16x4", 2}, {"BF16x4", 2}, {"F32x2", 2}, {"F16x8", 4},      {"BF16x8", 4},
      {"F32x4", 4}, {"4", 4},      {"2", 2},     {"16dp128bit", 2}, {"16dp256bit", 4}};
  uint32_t times = in.has("MT1616") ? 2 : 1;  // LDSM; of LDTM and STTM x2 to x128
  for (std::string_view mod : in.mods)
    if (mod.starts_with('x')) std::from_chars(mod.data() + 1, mod.data() + mod.size(), times);
  for (const auto& [mod, registers] : kWidths)
    if (in.has(mod)) return times * registers;
  return times;
}

uint32_t width_of(const Instruction& in, const Operand& o, std::string_view word, size_t shape, size_t slot) {
  if (word.size() == 1 || o.selector == "F32") return 1;  // FADD2, FMUL2, FFMA2: one float for both
  switch (word[1]) {
    case '*':
      return width_of(in);
    case 'F':
      return in.has("F64") ? 2 : 1;
    case 'I':
      return in.has("S64") || in.has("U64") ? 2 : 1;
    case 'D':
      return begins_with_f64(in) ? 2 : 1;
    case 'S':
      return in.has("F64") && !begins_with_f64(in) ? 2 : 1;
    case 'M':
      return width_of_matrix(in, slot);
    case 'G':
      return width_of_group(in, shape, slot);
    default:
      return static_cast<uint32_t>(word[1] - '0');
  }
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
  out.later = matched->row->family == "warpgroups";
  for (size_t k = 0; k < kMaxSlots; ++k)
    if (const Operand* o = matched->slots[k])
      add_operand(matched->written[k] ? out.writes : out.reads, in, *o,
                  std::max<uint32_t>(1, matched->registers[k]));
  out.known = add_named_predicates(out, in);
  return out;
}

std::vector<uint32_t> results_of(const Module& module, const Instruction& in) {
  Registers registers = registers_of(module, in);
  return registers.known ? std::move(registers.writes) : std::vector<uint32_t>{};
}

}  // namespace triton_runner::sass
