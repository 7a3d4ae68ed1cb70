// Gives the rows of opcodes.def, and matches an instruction with its row: which operand is which.
#pragma once
#include <array>
#include <span>
#include <string_view>

#include <triton_runner/ptx/opcode.h>
#include <triton_runner/sass/text.h>

namespace triton_runner::sass {

enum class Opcode : uint16_t {
#define OP(name, ...) k##name,
#define GAP(name, ...) k##name,
#include <triton_runner/sass/opcodes.def>
};

namespace detail {
enum class TraitNumber : uint32_t {
#define TRAIT(word, Enumerator, meaning) k##Enumerator,
#include <triton_runner/sass/traits.def>
};
}  // namespace detail

// The traits of an opcode of machine code, besides its effects: flags of its row, a word of traits.def each.
enum class Trait : uint32_t {
  kPlain = 0,
#define TRAIT(word, Enumerator, meaning) \
  k##Enumerator = uint32_t{1} << static_cast<uint32_t>(detail::TraitNumber::k##Enumerator),
#include <triton_runner/sass/traits.def>
};
constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr bool has(Trait all, Trait any) {
  return (static_cast<uint32_t>(all) & static_cast<uint32_t>(any)) != 0;
}
// After which another instruction than the next one may come.
inline constexpr Trait kLeads = Trait::kBranches | Trait::kCalls | Trait::kReturns | Trait::kMeetsAgain |
                                Trait::kLeaves | Trait::kComputed | Trait::kEnds;
struct TraitInfo {
  std::string_view word, meaning;
  Trait trait;
};
std::span<const TraitInfo> trait_table();

// The sources that a row's semantics were seen from.
enum Shown : uint8_t { kPair = 1, kPaper = 2, kH200 = 4 };

struct Row {
  Opcode opcode;
  std::string_view name;       // "IMAD_WIDE"
  std::string_view modifiers;  // as opcodes.def says them
  std::string_view operands;
  std::string_view family;  // empty: a GAP, which the engine refuses
  ptx::Effect effects;
  uint8_t shown;
  std::string_view pipe;  // "ALU"; empty: no source says
  Trait traits;
  uint32_t flops;  // of a thread

  std::string_view base() const { return name.substr(0, name.find('_')); }
  bool does(ptx::Effect effect) const { return ptx::has(effects, effect); }
  bool does(Trait trait) const { return has(traits, trait); }
};
std::span<const Row> opcode_table();
const Row* row_of(const Instruction& in);

inline bool Instruction::is(Opcode opcode) const { return row && row->opcode == opcode; }
inline bool Instruction::does(ptx::Effect effect) const { return row && row->does(effect); }
inline bool Instruction::does(Trait trait) const { return row && row->does(trait); }

inline constexpr size_t kMaxSlots = 10;

// One operand of a row's shape, in order; null where it may be left out and is.
struct Matched {
  const Row* row = nullptr;
  size_t shape = 0;  // of several, which
  std::array<const Operand*, kMaxSlots> slots{};
  std::array<bool, kMaxSlots> written{};
  std::array<uint8_t, kMaxSlots> registers{};  // how many, of R, R2 and so on
};

// Errors, at the instruction: an opcode or a modifier that the table lacks, operands of no shape of the row.
base::Result<Matched> match(const Module& module, const Instruction& in);

}  // namespace triton_runner::sass
