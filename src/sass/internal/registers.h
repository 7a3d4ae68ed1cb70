// Gives the registers that an instruction reads and writes. What they are live for is in flow.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/sass/text.h>

namespace triton_runner::sass {

// A register of any file as one number: "R4", "UR4", "P0", "UP0" (exec::RegisterProbe has such numbers). The zero and true
// registers have none.
uint32_t register_code(OperandKind kind, uint32_t index);
std::string register_name(uint32_t code);
std::optional<uint32_t> register_named(std::string_view name);
OperandKind kind_of(uint32_t code);
bool is_predicate(uint32_t code);
inline constexpr uint32_t kMaxRegisters = 1024;  // codes are less

struct Registers {
  std::vector<uint32_t> reads, writes;
  bool known = false;  // the table has the instruction
  bool later =
      false;  // its results come neither at a fixed time nor with a scoreboard (products of a warp group)
};

// If something is not known, the registers that stand in the text are given as written: what was there before is not
// looked at. Where the width of an operand is not certain, the registers that it has at least.
Registers registers_of(const Module& module, const Instruction& in);

// The registers that an instruction writes; none of an instruction that the table lacks.
std::vector<uint32_t> results_of(const Module& module, const Instruction& in);

// Registers of an R* operand.
uint32_t width_of(const Instruction& in);
// Registers of an operand in the place `word` of a row's shape, the slot of that number of the shape of that number.
uint32_t width_of(const Instruction& in, const Operand& o, std::string_view word, size_t shape, size_t slot);

}  // namespace triton_runner::sass
