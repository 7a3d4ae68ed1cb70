// Expands the tables of opcodes, modifiers and special registers, and finds their rows by their texts.
#include <triton_runner/base/text_map.h>
#include <triton_runner/ptx/opcode.h>

namespace triton_runner::ptx {
using base::TextMap;
namespace {

constexpr auto kRows = [] {
  using enum Effect;
  constexpr auto kNowhere = std::string_view::npos;
  return std::to_array<OpcodeRow>({
#define OP(name, text, forms, handler, operands, effects, section) \
  {Opcode::name,                                                   \
   text,                                                           \
   forms,                                                          \
   #handler,                                                       \
   effects,                                                        \
   section,                                                        \
   std::string_view(#handler) != "UNSUPPORTED",                    \
   std::string_view(forms).find("<compare>") != kNowhere},
#include <triton_runner/ptx/opcodes.def>
  });
}();

enum class Class : uint8_t { kNothing, kBits, kUnsigned, kSigned, kFloat, kPred, kOpaque };
struct ModRow {
  std::string_view text;
  uint16_t bits;
  Class type;
};
constexpr ModRow kMods[] = {
#define TYPE(name, text, bits, kind) {text, bits, Class::kind},
#define MOD(name, text) {text, 0, Class::kNothing},
#include <triton_runner/ptx/modifiers.def>
};

constexpr EffectInfo kEffects[] = {
#define EFFECT(word, Enumerator, meaning) {#word, meaning, Effect::k##Enumerator},
#include <triton_runner/ptx/effects.def>
};

struct SpecialRow {
  std::string_view text;
  int bits;
};
constexpr SpecialRow kSpecials[] = {
#define SPECIAL(name, text, bits) {text, bits},
#include <triton_runner/ptx/special.def>
};
static_assert(std::size(kSpecials) <= 256, "Special is a byte");

// Filled on the first look-up, read-only afterwards.
template <class Key, class Rows>
TextMap<Key> index(const Rows& rows, size_t capacity) {
  TextMap<Key> map(capacity);
  for (size_t i = 0; i < std::size(rows); ++i) map.at(rows[i].text) = static_cast<Key>(i);
  return map;
}
const ModRow& mod_row(Mod mod) { return kMods[static_cast<size_t>(mod)]; }

}  // namespace

const OpcodeRow& row(Opcode opcode) { return kRows[static_cast<size_t>(opcode)]; }
std::span<const EffectInfo> effect_table() { return kEffects; }
std::span<const OpcodeRow> opcode_table() { return kRows; }

Opcode find_opcode(std::string_view base) {
  static const TextMap<Opcode> map = index<Opcode>(kRows, 512);
  const Opcode* found = map.find(base);
  return found ? *found : Opcode::kUnknown;
}

Mod find_mod(std::string_view text) {
  static const TextMap<Mod> map = index<Mod>(kMods, 2048);
  const Mod* found = map.find(text);
  return found ? *found : Mod::kNone;
}

const Special* find_special(std::string_view text) {
  static const TextMap<Special> map = index<Special>(kSpecials, 512);
  return map.find(text);
}

std::vector<std::string_view> special_names() {
  std::vector<std::string_view> out;
  for (const SpecialRow& row : kSpecials) out.push_back(row.text);
  return out;
}

bool is_type(Mod mod) { return mod_row(mod).type != Class::kNothing; }
std::string_view text(Mod mod) { return mod_row(mod).text; }
std::string_view text(Opcode opcode) { return row(opcode).text; }
std::string_view text(Special special) { return kSpecials[static_cast<size_t>(special)].text; }
int bits(Mod type) { return mod_row(type).bits; }
int bits(Special special) { return kSpecials[static_cast<size_t>(special)].bits; }
bool is_float(Mod type) { return mod_row(type).type == Class::kFloat; }
bool is_signed(Mod type) { return mod_row(type).type == Class::kSigned; }

}  // namespace triton_runner::ptx
