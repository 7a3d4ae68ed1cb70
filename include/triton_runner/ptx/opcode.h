// Declares the instruction set as tables: opcodes.def (one row an opcode), modifiers.def (types and every
// other .suffix), special.def (special registers).
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace triton_runner::ptx {

enum class Opcode : uint16_t {
#define OP(name, text, ...) name,
#include <triton_runner/ptx/opcodes.def>
};

// One suffix of an opcode: a type (kF32, kB16, ...) or a modifier (kRn, kFtz, kShared, kM16N8K16, ...).
enum class Mod : uint16_t {
#define TYPE(name, text, ...) name,
#define MOD(name, text) name,
#include <triton_runner/ptx/modifiers.def>
};

enum class Special : uint8_t {
#define SPECIAL(name, text, ...) name,
#include <triton_runner/ptx/special.def>
};

namespace detail {
enum class EffectNumber : uint32_t {
#define EFFECT(word, Enumerator, meaning) k##Enumerator,
#include <triton_runner/ptx/effects.def>
};
}  // namespace detail

// The effects of an opcode: flags of its row, a word of effects.def each.
enum class Effect : uint32_t {
  kNone = 0,
#define EFFECT(word, Enumerator, meaning) \
  k##Enumerator = uint32_t{1} << static_cast<uint32_t>(detail::EffectNumber::k##Enumerator),
#include <triton_runner/ptx/effects.def>
};
struct EffectInfo {
  std::string_view word, meaning;
  Effect effect;
};
std::span<const EffectInfo> effect_table();

constexpr Effect operator|(Effect a, Effect b) {
  return static_cast<Effect>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr bool has(Effect all, Effect one) {
  return (static_cast<uint32_t>(all) & static_cast<uint32_t>(one)) != 0;
}

struct OpcodeRow {
  Opcode opcode;
  std::string_view text;     // the base mnemonic: "cp" of cp.async.bulk.tensor
  std::string_view forms;    // the modifiers and operand counts it takes, as opcodes.def says them
  std::string_view handler;  // of the SIMT engine: "alu" for lower_alu
  Effect effects;
  std::string_view section;  // of the PTX ISA
  bool executed;             // handler is not UNSUPPORTED
  bool compares;             // one of its modifiers is a comparison
};
const OpcodeRow& row(Opcode opcode);
std::span<const OpcodeRow> opcode_table();  // by opcode; row 0 is kUnknown

Opcode find_opcode(std::string_view base);           // kUnknown if there is none
Mod find_mod(std::string_view text);                 // without the dot; kNone if there is none
const Special* find_special(std::string_view text);  // "%tid.x"; null if there is none
std::vector<std::string_view> special_names();

bool is_type(Mod mod);
std::string_view text(Mod mod);  // without the dot
std::string_view text(Opcode opcode);
std::string_view text(Special special);  // "%tid.x"
// Bits of a value of the type: 32 for kF16x2, 1 for kPred, 0 if it is not a type.
int bits(Mod type);
int bits(Special special);
bool is_float(Mod type);   // kF16 ... kF64, kBf16, kTf32, the 8-, 6- and 4-bit formats, and their vectors
bool is_signed(Mod type);  // kS8 ... kS64, kS16x2, ...

}  // namespace triton_runner::ptx
