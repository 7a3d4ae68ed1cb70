// The table of opcodes.def, and an instruction matched with its row: which operand is which.
#pragma once
#include <array>
#include <span>
#include <string_view>

#include <triton_runner/ptx/opcode.h>
#include <triton_runner/sass/text.h>

namespace triton_runner::sass {

enum class Opcode : uint16_t {
#define OP(name, ...) k##name,
#include <triton_runner/sass/opcodes.def>
};

// The sources that a row's semantics were seen from.
enum Shown : uint8_t { kPair = 1, kPaper = 2, kH200 = 4 };

struct Row {
  Opcode opcode;
  std::string_view name;       // "IMAD_WIDE"
  std::string_view modifiers;  // as opcodes.def says them
  std::string_view operands;
  std::string_view family;
  ptx::Effect effects;
  uint8_t shown;

  std::string_view base() const { return name.substr(0, name.find('_')); }
  bool does(ptx::Effect effect) const { return ptx::has(effects, effect); }
};
std::span<const Row> opcode_table();

inline constexpr size_t kMaxSlots = 10;

// One operand of a row's shape, in order; null where it may be left out and is.
struct Matched {
  const Row* row = nullptr;
  size_t shape = 0;  // of several, which
  std::array<const Operand*, kMaxSlots> slots{};
  std::array<bool, kMaxSlots> written{};
  std::array<uint8_t, kMaxSlots> registers{};  // how many, of R, R2, R4 and R*
};

// Errors, at the instruction: an opcode or a modifier that the table lacks, operands of no shape of the row.
base::Result<Matched> match(const Module& module, const Instruction& in);

// The registers that an instruction writes (register_code); none of an instruction that the table lacks.
std::vector<uint32_t> results_of(const Module& module, const Instruction& in);

// Registers of an R* operand.
uint32_t width_of(const Instruction& in);

}  // namespace triton_runner::sass
