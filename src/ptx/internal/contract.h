// Finds what ptxas contracts in multiplications and additions that leave their rounding open, unless it is
// called with -fmad=false: which pairs become one fused multiply-add, and which divisions a multiplication.
//
// The PTX ISA only allows it (9.7.3: mul, add and sub without .rn). The rule here is what ptxas was seen to
// do; doc/internals/hardware.md says what it was compared with.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <triton_runner/ptx/alu.h>
#include <triton_runner/ptx/module.h>

namespace triton_runner::ptx {

// An add or sub that takes the product of a mul, or of the multiplication that ends a div.approx or div.full,
// unrounded: d = (-)a * b + (-)c.
struct Contraction {
  uint32_t add;      // the instruction
  uint32_t product;  // the mul's or div's
  uint8_t operand;   // of the add, where the product comes in: 1 or 2
  bool minus_product = false, minus_addend = false;
  bool moved = false;  // an operand of the product may be written again between the two
};
// In the order of their additions. is_part: others may need any of its registers, so that no instruction is left out.
std::vector<Contraction> contractions(const Function& f, bool is_part = false);

// The fma of a contraction: its operands d, a, b and c, and its function. divides: by what div.full or div.approx keeps as its
// modifier, which says that the second factor is to be inverted first.
std::array<Operand, 4> fused_operands(const Function& f, const Contraction& c);
base::Result<lanes::LaneFunction> find_fused(const Module& module, const Function& f, const Contraction& c,
                                             bool divides);

// The f32 that ptxas multiplies with in place of this div.approx or div.full by a constant: its reciprocal,
// if both are normal numbers.
class Divisors {
 public:
  explicit Divisors(const Function& f);
  std::optional<uint32_t> reciprocal(const Instruction& div) const;

 private:
  std::vector<std::optional<uint32_t>> constants_;  // of registers that are written once, by a mov
};

}  // namespace triton_runner::ptx
