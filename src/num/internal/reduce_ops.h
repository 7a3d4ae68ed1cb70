// Names the reductions that have kernels: bare enumerations, for reduce.h and the ISA-specific files.
#pragma once
#include <cstdint>

namespace triton_runner::num {

enum class ReduceOp : uint8_t {
  kAddI,
  kMulI,
  kAnd,
  kOr,
  kXor,
  kMaxS,
  kMaxU,
  kMinS,
  kMinU,  // integers (i1 too)
  kAddF,
  kMulF,
  kMaxNum,
  kMinNum,
  kMaximum,
  kMinimum,  // f16, bf16, f32, f64
};

// In a sum of floats element i goes to number i modulo 64.
inline constexpr int kAccumulators = 64;

enum class ArgOp : uint8_t { kMaxF, kMinF, kMaxS, kMinS, kMaxU, kMinU };

}  // namespace triton_runner::num
