// Finds the row of an instruction by its name and suffixes, and matches its operands with one of the row's shapes:
//
//   IMAD.WIDE.U32 R2, R4, 0x4, R6     the row IMAD_WIDE, which has more of the suffixes than IMAD; shape ">R2 R R R2"
#include <triton_runner/sass/opcode.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <triton_runner/sass/registers.h>

namespace triton_runner::sass {
namespace {

using enum ptx::Effect;
using enum Trait;
constexpr uint8_t pair = kPair, paper = kPaper, h200 = kH200;

// The column `traits`.
struct Marks {
  Trait traits = kPlain;
  uint32_t flops = 0;
};
constexpr Marks flops(uint32_t n) { return {kPlain, n}; }
constexpr Marks operator|(Marks a, Trait b) { return {a.traits | b, a.flops}; }
constexpr Marks operator|(Marks a, Marks b) { return {a.traits | b.traits, a.flops | b.flops}; }

constexpr Row row(Row row, std::string_view pipe, Marks marks) {
  if (pipe != "NONE") row.pipe = pipe;
  row.traits = marks.traits, row.flops = marks.flops;
  return row;
}
constexpr Row kRows[] = {
#define OP(name, modifiers, operands, family, effects, shown, pipe, traits)                         \
  row({Opcode::k##name, #name, modifiers, operands, #family, effects, shown, "", kPlain, 0}, #pipe, \
      Marks{} | traits),
#define GAP(name, traits) {Opcode::k##name, #name, "", "", "", kNone, 0, "", traits, 0},
#include <triton_runner/sass/opcodes.def>
};

// The next word of `text`, separated by `by`.
std::string_view next(std::string_view& text, std::string_view by) {
  const size_t end = std::min(text.find(by), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + by.size(), text.size()));
  return word;
}

// Returns how many suffixes the row's name holds if the instruction has all of them, and -1 if it lacks one.
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

// Returns whether the operand is desc[UR8] with no address after it.
bool is_hint(const Operand& o) {
  return o.kind == OperandKind::kAddress && o.space == "desc" && o.parts.empty() && o.integer == 0;
}

// Returns whether the operand is of the kind that a shape's word names, without its > and ?.
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
      return o.kind == OperandKind::kAddress && !is_hint(o);
    case 'H':
      return is_hint(o);
    case 'L':
      return o.kind == OperandKind::kLabel;
    case 'I':
      return o.kind == OperandKind::kInteger;
    default:
      return o.kind == OperandKind::kName;
  }
}

bool match_shape(std::string_view shape, size_t number, const Instruction& in, Matched& out) {
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
    if (word[0] == 'R' && fits)
      out.registers[slot] = static_cast<uint8_t>(width_of(in, *out.slots[slot], word, number, slot));
    ++slot;
  }
  return at == in.operands.size();
}

}  // namespace

std::span<const Row> opcode_table() { return kRows; }

std::span<const TraitInfo> trait_table() {
  static constexpr TraitInfo kTraits[] = {
#define TRAIT(word, Enumerator, meaning) {#word, meaning, k##Enumerator},
#include <triton_runner/sass/traits.def>
  };
  return kTraits;
}

const Row* row_of(const Instruction& in) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, std::vector<const Row*>> rows;
    for (const Row& row : kRows) {
      rows[row.base()].push_back(&row);
      if (row.name != row.base()) rows[row.name].push_back(&row);  // UCGABAR_ARV is its whole name
    }
    return rows;
  }();
  const auto rows = kByName.find(in.name);
  if (rows == kByName.end()) return nullptr;
  const Row* best = nullptr;
  int most = -1;
  for (const Row* row : rows->second)
    if (const int n = suits(*row, in); n > most) best = row, most = n;
  return best;
}

base::Result<Matched> match(const Module& module, const Instruction& in) {
  constexpr const char* kInstead = "level 'ptx' executes the PTX that this was assembled from";
  const Row* best = in.row;
  if (!best || best->family.empty())
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
    if (match_shape(next(rest, " / "), number, in, out)) return out;
  }
  return module.diagnostic(
      in.offset, "the engine does not execute '" + std::string(in.spelling) + "' with these operands",
      {"it knows: " + std::string(best->operands), kInstead});
}

}  // namespace triton_runner::sass
