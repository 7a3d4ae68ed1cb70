// Reads the modifiers of an ALU instruction (Spec), and maps PTX's names of operations and types to those of
// the functions over lanes.
#pragma once
#include <array>

#include <triton_runner/ptx/alu.h>

namespace triton_runner::ptx {
using namespace lanes;

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

// By name; kNone or kOther where lanes have none.
Operation operation_of(Opcode opcode);
Type type_of(Mod type);
Mod bits_type(int bits);  // kB32 for 32; kPred for 1

}  // namespace triton_runner::ptx
