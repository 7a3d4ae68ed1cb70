// Has the table of opcodes.def, and an instruction matched with its row.
#pragma once
#include <array>
#include <string_view>
#include <vector>

#include <triton_runner/amdgcn/text.h>

namespace triton_runner::amdgcn {

enum class Opcode : uint16_t {
#define OP(name, ...) k_##name,
#include <triton_runner/amdgcn/opcodes.def>
};

// One word of a row's operands.
struct Slot {
  char kind = 0;         // B I U F H P X M S W
  bool is_pair = false;  // PF16, PF32: of floats, as P16 is of integers
  bool written = false, optional = false;
  uint8_t bits = 0;  // 16, 32, 64
};

struct Row {
  Opcode opcode;
  std::string_view name, operands;
  std::vector<Slot> slots;
  bool takes_any = false;  // "*"
};

const Row& row(Opcode opcode);
const Row* row_of(std::string_view name);  // null: the table lacks it

inline constexpr size_t kMaxSlots = 6;
using Matched = std::array<const Operand*, kMaxSlots>;  // null where it may be left out and is

// Errors, at the instruction: an opcode that the table lacks, operands that the row does not take. `width`: lanes of a wavefront.
base::Result<Matched> match(const Module& module, const Instruction& in, uint32_t width);

}  // namespace triton_runner::amdgcn
