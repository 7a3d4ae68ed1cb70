// From an instruction to its row: by name and suffixes, then by the kinds of its operands.
#include <triton_runner/sass/opcode.h>

#include <algorithm>
#include <charconv>

namespace triton_runner::sass {
namespace {

using enum ptx::Effect;
constexpr uint8_t pair = kPair, paper = kPaper, h200 = kH200;

constexpr Row kRows[] = {
#define OP(name, modifiers, operands, family, effects, shown) \
  {Opcode::k##name, #name, modifiers, operands, #family, effects, shown},
#include <triton_runner/sass/opcodes.def>
};

// The next word of `text`, separated by `by`.
std::string_view next(std::string_view& text, std::string_view by) {
  const size_t end = std::min(text.find(by), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + by.size(), text.size()));
  return word;
}

// How many suffixes the row's name holds, all of them the instruction's; -1 if it is a row of something else.
int suits(const Row& row, const Instruction& in) {
  if (row.name == in.name) return 0;  // UCGABAR_ARV
  std::string_view rest = row.name;
  if (next(rest, "_") != in.name) return -1;
  int count = 0;
  while (!rest.empty()) {
    if (!in.has(next(rest, "_"))) return -1;
    ++count;
  }
  return count;
}

bool takes(const Row& row, std::string_view mod) {
  for (std::string_view rest = row.modifiers; !rest.empty();) {
    std::string_view word = next(rest, " ");
    if (word.starts_with('*')) word.remove_prefix(1);
    if (word == mod || (word == "64xNxK" && mod.starts_with("64x"))) return true;
  }
  return false;
}

bool is_register(const Operand& o) {
  return o.kind == OperandKind::kRegister || o.kind == OperandKind::kUniform;
}

// Whether the operand is of the kind that the word of a shape (without > and ?) says.
bool suits(std::string_view word, bool written, const Operand& o) {
  switch (word[0]) {
    case 'R':
      return is_register(o) ||
             (!written && (o.kind == OperandKind::kInteger || o.kind == OperandKind::kFloat ||
                           o.kind == OperandKind::kConstant));
    case 'P':
      return o.kind == OperandKind::kPredicate || o.kind == OperandKind::kUniformPredicate ||
             (!written && o.kind == OperandKind::kRegister && o.selector == "SIGN");
    case 'B':
      return o.kind == OperandKind::kBarrier;
    case 'S':
      return o.kind == OperandKind::kSpecial;
    case 'A':
      return o.kind == OperandKind::kAddress;
    case 'L':
      return o.kind == OperandKind::kLabel;
    case 'I':
      return o.kind == OperandKind::kInteger;
    default:
      return o.kind == OperandKind::kName;
  }
}

bool match_shape(std::string_view shape, const Instruction& in, Matched& out) {
  size_t slot = 0, at = 0;
  for (std::string_view rest = shape; !rest.empty();) {
    std::string_view word = next(rest, " ");
    if (word.empty()) continue;
    const bool written = word[0] == '>', optional = word.back() == '?';
    word = word.substr(written, word.size() - written - optional);
    const bool fits = at < in.operands.size() && suits(word, written, in.operands[at]);
    if (!fits && !optional) return false;
    out.slots[slot] = fits ? &in.operands[at++] : nullptr;
    out.written[slot] = written;
    if (word[0] == 'R')
      out.registers[slot] = static_cast<uint8_t>(word.size() == 1 ? 1
                                                 : word[1] == '*' ? width_of(in)
                                                                  : word[1] - '0');
    ++slot;
  }
  return at == in.operands.size();
}

// Registers of a thread's sums: 64xNxK of 32 bits, or of halves in pairs.
uint32_t sums_of(const Instruction& in) {
  for (std::string_view mod : in.mods) {
    if (!mod.starts_with("64x")) continue;
    uint32_t n = 0;
    std::from_chars(mod.data() + 3, mod.data() + mod.size(), n);
    return in.has("F32") || in.name == "IGMMA" ? n / 2 : n / 4;
  }
  return 1;
}

}  // namespace

std::span<const Row> opcode_table() { return kRows; }

std::vector<uint32_t> results_of(const Module& module, const Instruction& in) {
  std::vector<uint32_t> out;
  const auto matched = match(module, in);
  for (size_t k = 0; matched && k < kMaxSlots; ++k) {
    const Operand* o = matched->slots[k];
    if (!matched->written[k] || !o) continue;
    const bool is_predicate = o->kind == OperandKind::kPredicate || o->kind == OperandKind::kUniformPredicate;
    if (o->kind == OperandKind::kBarrier || o->index == (is_predicate ? kTrue : kZero)) continue;
    uint32_t count = is_predicate ? 1 : std::max<uint32_t>(1, matched->registers[k]);
    if (in.name.ends_with("GMMA")) count = sums_of(in);
    for (uint32_t i = 0; i < count; ++i) out.push_back(register_code(o->kind, o->index + i));
  }
  return out;
}

// The width of a transfer of tensor memory: that of the shape, as often as x128 says.
static uint32_t width_of_tensor(const Instruction& in) {
  uint32_t times = 1, each = in.has("16dp128bit") ? 2 : in.has("16dp256bit") ? 4 : 1;
  for (std::string_view mod : in.mods)
    if (mod[0] == 'x') std::from_chars(mod.data() + 1, mod.data() + mod.size(), times);
  return times * each;
}

uint32_t width_of(const Instruction& in) {
  if (in.name == "LDTM" || in.name == "STTM") return width_of_tensor(in);
  constexpr std::pair<std::string_view, uint32_t> kWidths[] = {
      {"128", 4},    {"96", 3},    {"64", 2},    {"S64", 2},    {"F64", 2},  {"F16x4", 2},
      {"BF16x4", 2}, {"F32x2", 2}, {"F16x8", 4}, {"BF16x8", 4}, {"F32x4", 4}};
  for (const auto& [mod, registers] : kWidths)
    if (in.has(mod)) return registers;
  return 1;
}

base::Result<Matched> match(const Module& module, const Instruction& in) {
  constexpr const char* kInstead = "level 'ptx' executes the PTX that this was assembled from";
  const Row* best = nullptr;
  int most = -1;
  for (const Row& row : kRows)
    if (const int n = suits(row, in); n > most) best = &row, most = n;
  if (!best)
    return module.diagnostic(
        in.offset, "the engine does not execute the machine instruction '" + std::string(in.name) + "'",
        {kInstead});
  for (std::string_view mod : in.mods)
    if (best->name.find(std::string("_").append(mod)) == std::string_view::npos && !takes(*best, mod))
      return module.diagnostic(
          in.offset, "the engine does not execute '" + std::string(in.name) + "' with ." + std::string(mod),
          {kInstead});
  size_t number = 0;
  for (std::string_view rest = best->operands; number == 0 || !rest.empty(); ++number) {
    Matched out;
    out.row = best;
    out.shape = number;
    if (match_shape(next(rest, " / "), in, out)) return out;
  }
  return module.diagnostic(
      in.offset, "the engine does not execute '" + std::string(in.spelling) + "' with these operands",
      {"it knows: " + std::string(best->operands), kInstead});
}

}  // namespace triton_runner::sass
