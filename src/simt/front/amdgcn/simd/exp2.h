// Computes 2^x of floats, rounded correctly: a polynomial in f64 whose error is far below a unit of f32, and whether the
// result is too near the middle of two floats for it.
#pragma once
#include <triton_runner/num/formulas.h>

namespace triton_runner::simt::amd::SIMD_ISA {
namespace {

using num::SIMD_ISA::bits_as;

// ln(2)^k / k!, of which the first that is left out is below 2^-52 for |r| <= 1/2.
constexpr double kExp2[] = {0x1.0000000000000p+0,  0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58fp-3,
                            0x1.c6b08d704a0c0p-5,  0x1.3b2ab6fba4e77p-7,  0x1.5d87fe78a6731p-10,
                            0x1.430912f86c787p-13, 0x1.ffcbfc588b0c7p-17, 0x1.62c0223a5c824p-20,
                            0x1.b5253d395e7c4p-24, 0x1.e4cf5158b8ecap-28, 0x1.e8cac7351bb25p-32,
                            0x1.c3bd650fc2986p-36};
constexpr int kExp2Terms = 13;

// `unsure`: 1 where the result is to be computed otherwise.
NUM_INLINE float exp2_of(float x, uint32_t* unsure) {
  float t = x > 130.0f ? 130.0f : x;
  t = t < -160.0f ? -160.0f : t;
  const float whole = (t + 0x1.8p23f) - 0x1.8p23f;
  const double r = static_cast<double>(t) - static_cast<double>(whole);
  double y = kExp2[kExp2Terms - 1];
#pragma GCC unroll 16
  for (int k = kExp2Terms - 2; k >= 0; --k) y = __builtin_fma(y, r, kExp2[k]);
  const auto n = static_cast<int64_t>(static_cast<int32_t>(whole));
  const uint64_t bits = bits_as<uint64_t>(y) + (static_cast<uint64_t>(n) << 52);
  // The bits of f64 that f32 lacks, from their middle on.
  const int32_t rest = static_cast<int32_t>(static_cast<uint32_t>(bits) & 0x1fffffff) - 0x10000000;
  constexpr int32_t kMargin = 1024;
  const bool is_near = rest < kMargin && rest > -kMargin, is_tiny = x < -126.0f && x > -152.0f;
  *unsure = is_near || is_tiny || x != x ? 1 : 0;
  return static_cast<float>(bits_as<double>(bits));
}

}  // namespace
}  // namespace triton_runner::simt::amd::SIMD_ISA
