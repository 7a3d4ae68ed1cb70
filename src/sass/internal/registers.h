// The registers that an instruction reads and writes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <triton_runner/sass/opcode.h>

namespace triton_runner::sass {

// A register of any file: R, UR, P, UP. The zero and true registers have none.
using RegisterId = uint16_t;
std::string name_of(RegisterId reg);
inline bool is_vector(RegisterId reg) { return reg < 256; }
inline bool is_uniform(RegisterId reg) { return reg >= 256 && reg < 512; }
constexpr RegisterId kPredicateFrom = 512;  // P0

// A product of a warp (HMMA, IMMA, ...): an m x k matrix by a k x n one.
struct Product {
  uint32_t m, n, k;
};
Product product_of(const Instruction& in);

struct Registers {
  std::vector<RegisterId> reads, writes;
  bool known = false;  // the table has the instruction
  bool later =
      false;  // its results come neither at a fixed time nor with a scoreboard (products of a warp group)
};

// If something is not known, the registers that stand in the text are given as written: what was there before is not
// looked at. Where the width of an operand is not certain, the registers that it has at least.
Registers registers_of(const Module& module, const Instruction& in);

}  // namespace triton_runner::sass
