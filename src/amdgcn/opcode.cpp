// Goes from an instruction to its row, by name; then its operands, by the row's words.
#include <triton_runner/amdgcn/opcode.h>

#include <algorithm>
#include <unordered_map>

namespace triton_runner::amdgcn {
namespace {

struct Text {
  Opcode opcode;
  std::string_view name, operands;
};
constexpr Text kTexts[] = {
#define OP(name, operands, ...) {Opcode::k_##name, #name, operands},
#include <triton_runner/amdgcn/opcodes.def>
};
constexpr std::pair<std::string_view, Opcode> kAliases[] = {
#define ALIAS(name, row) {#name, Opcode::k_##row},
#include <triton_runner/amdgcn/opcodes.def>
};

Slot slot_of(std::string_view word) {
  Slot s;
  s.written = word.front() == '>';
  s.optional = word.back() == '?';
  word = word.substr(s.written, word.size() - s.written - s.optional);
  s.kind = word.front();
  word.remove_prefix(1);
  s.is_pair = word.starts_with("F");
  if (s.is_pair) word.remove_prefix(1);
  s.bits = word == "16" ? 16 : word == "64" ? 64 : 32;
  return s;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> out;
    for (const Text& t : kTexts) {
      Row r{t.opcode, t.name, t.operands, {}, t.operands == "*"};
      for (std::string_view rest = r.takes_any ? "" : t.operands; !rest.empty();) {
        const size_t end = std::min(rest.find(' '), rest.size());
        r.slots.push_back(slot_of(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
      out.push_back(std::move(r));
    }
    return out;
  }();
  return all;
}

// Registers that an operand of the slot takes.
uint32_t registers_of(const Slot& s, uint32_t width) {
  if (s.kind == 'M') return width / 32;
  return s.bits == 64 || (s.kind == 'P' && s.bits == 32) ? 2 : 1;
}

bool suits(const Slot& s, const Operand& o, uint32_t width) {
  if (o.is(kNull)) return true;
  if (s.kind == 'W') return true;
  if (s.kind == 'S' || s.kind == 'M')
    return (o.kind == OperandKind::kScalar && o.count == (s.kind == 'S' ? 1 : width / 32)) ||
           (!s.written && o.kind == OperandKind::kInteger);
  if (o.is_register()) return o.count == registers_of(s, width);
  return !s.written && (o.kind != OperandKind::kWord || o.text.find("@rel32@") != std::string_view::npos);
}

// Modifiers that somebody reads, and those of caches, which change no value: the largest of those whose value is a small number, or a
// list of such; kAny where the reader looks at it.
constexpr int64_t kAny = -1;
// clang-format off
const std::unordered_map<std::string_view, int64_t> kModifiers = {
    {"abid", 15}, {"addr64", kAny}, {"bank_mask", 15}, {"bitop3", 255}, {"blgp", 7}, {"bound_ctrl", 1}, {"byte_sel", 3}, {"cbsz", 7},
    {"clamp", kAny}, {"div", 2}, {"dlc", kAny}, {"dpp8", 7}, {"dst_sel", kAny}, {"dst_unused", kAny}, {"glc", kAny}, {"idxen", kAny},
    {"lds", kAny}, {"mul", 4}, {"neg_hi", 1}, {"neg_lo", 1}, {"nt", kAny}, {"off", kAny}, {"offen", kAny}, {"offset", kAny},
    {"offset0", kAny}, {"offset1", kAny}, {"op_sel", 1}, {"op_sel_hi", 1}, {"quad_perm", 3}, {"row_bcast", 31},
    {"row_half_mirror", kAny}, {"row_mask", 15}, {"row_mirror", kAny}, {"row_newbcast", 15}, {"row_ror", 15}, {"row_share", 15},
    {"row_shl", 15}, {"row_shr", 15}, {"row_xmask", 15}, {"sc0", kAny}, {"sc1", kAny}, {"scope", kAny}, {"slc", kAny},
    {"src0_sel", kAny}, {"src1_sel", kAny}, {"th", kAny}, {"wave_rol", kAny}, {"wave_ror", kAny}, {"wave_shl", kAny},
    {"wave_shr", kAny}};
// clang-format on

// Whether a modifier of kModifiers, which has `largest`, has a value that there is.
bool is_value(const Instruction& in, const Modifier& m, int64_t largest) {
  if (m.name == "dst_sel" || m.name == "src0_sel" || m.name == "src1_sel")
    return std::ranges::find(kSdwaParts, m.value) != std::end(kSdwaParts);
  if (m.name == "dst_unused") return std::ranges::find(kSdwaUnused, m.value) != std::end(kSdwaUnused);
  if (largest == kAny) return true;
  const auto fits = [&](int64_t value) { return value >= 0 && value <= largest; };
  if (!m.value.starts_with('[')) return fits(in.number(m.name, -1));
  for (size_t k = 0; k < 8; ++k)
    if (!fits(in.number_at(m.name, k, 0))) return false;
  return true;
}

}  // namespace

const Row& row(Opcode opcode) { return rows()[static_cast<size_t>(opcode)]; }

const Row* row_of(std::string_view name) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const Row*> out;
    for (const Row& r : rows()) out.emplace(r.name, &r);
    for (const auto& [alias, opcode] : kAliases) out.emplace(alias, &row(opcode));
    return out;
  }();
  const auto found = kByName.find(name);
  return found == kByName.end() ? nullptr : found->second;
}

base::Result<Matched> match(const Module& module, const Instruction& in, uint32_t width) {
  constexpr const char* kInstead = "level 'ttgir' executes the IR that this was compiled from";
  if (!in.row)
    return module.diagnostic(
        in.offset, "the engine does not execute the machine instruction '" + std::string(in.spelling) + "'",
        {kInstead});
  for (const Modifier& m : in.modifiers) {
    const auto known = kModifiers.find(m.name);
    if (known != kModifiers.end() && is_value(in, m, known->second)) continue;
    const std::string value = known == kModifiers.end() ? "" : ":" + std::string(m.value);
    return module.diagnostic(in.offset,
                             "the engine does not execute '" + std::string(in.spelling) + "' with '" +
                                 std::string(m.name) + value + "'",
                             {kInstead});
  }
  Matched out{};
  if (in.row->takes_any) return out;
  size_t at = 0;
  bool fits = true;
  // Optional operands are left out where the text has one less than the row.
  const bool all_there = in.operands.size() == in.row->slots.size();
  for (size_t k = 0; fits && k < in.row->slots.size(); ++k) {
    const Slot& s = in.row->slots[k];
    if (s.optional && !all_there) continue;
    fits = at < in.operands.size() && suits(s, in.operands[at], width);
    if (fits) out[k] = &in.operands[at++];
  }
  if (fits && at == in.operands.size()) return out;
  return module.diagnostic(
      in.offset, "the engine does not execute '" + std::string(in.spelling) + "' with these operands",
      {"it knows: " + std::string(in.row->operands), kInstead});
}

}  // namespace triton_runner::amdgcn
