// Declares what machine code does over all lanes and no line of PTX says: sums with carries (IADD3), and
// predicates as bits.
#pragma once
#include <array>

#include <triton_runner/lanes/lanes.h>

namespace triton_runner::lanes {

// d = a + b + c, each inverted where `small` has its bit (1, 2, 4), plus 1 for each bit of small >> 3, plus the carries
// of Add3. Carries out: Add3::out[0] where the sum reaches 2^32, out[1] where it reaches 2^33.
struct Add3 {
  uint32_t in[2] = {kNoRegister, kNoRegister}, out[2] = {kNoRegister, kNoRegister};
};
// Predicates as bits: d = the places of `data` (PredicateBits) under imm's mask, the other bits those of a.
struct PredicateBits {
  std::array<uint32_t, 7> places;  // of P0 to P6
  uint32_t mask = 0;
};
struct SumHandlers {
  Handler add3;
  Handler predicate_table;  // d = a[table] of three predicates a, b, c; small: the table of 8 bits
  Handler pack_predicates, unpack_predicates;  // a: the bits
};

}  // namespace triton_runner::lanes
