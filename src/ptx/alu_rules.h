// Reads what the modifiers of an ALU instruction say, and has the rows of functions to look it up in.
#pragma once
#include <array>

#include <triton_runner/ptx/alu.h>

#include "simd/rows.h"

namespace triton_runner::ptx {

struct Spec {
  std::array<Mod, 4> types{};  // in order; kNone where there are no more
  uint32_t variant = 0;
  Direction direction = kNearest;
  bool integral = false, satfinite = false, stochastic = false, scaled = false, is_pack = false;
  uint32_t comparison = kComparisons;
  uint32_t combine = kBoolNone;
  Permutation permutation = kPermuteBytes;  // of prmt
  FloatTest test = kTestFinite;             // of testp
};
Spec spec_of(const Instruction& in);

// Null if there is none.
Handler find_row(Opcode op, Mod type, Mod type2, uint32_t variant);
// find_cvt of the current instruction set.
CvtChoice choose_cvt(const CvtKey& key);
Mod bits_type(int bits);  // kB32 for 32; kPred for 1

}  // namespace triton_runner::ptx
