// f32 <-> narrower floats as integer formulas that vectorise: the same bits as types.h's from_double and
// to_double.
#pragma once
#include "simd/common.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

enum class Special : uint8_t { kIeee, kAllOnes, kNegativeZero, kNone };  // where the NaNs are

template <int kExponent, int kMantissa, int kBias, Special kSpecial, uint32_t kLargest, uint32_t kNan,
          bool kSaturate>
struct Codec {
  static constexpr int kWidth = 1 + kExponent + kMantissa;
  static constexpr int kShift = 23 - kMantissa;
  static constexpr uint32_t kTop = ((1u << kExponent) - 1) << kMantissa;  // exponent field all ones

  static inline float decode(uint32_t code) {
    uint32_t sign = (code >> (kWidth - 1)) << 31;
    uint32_t magnitude = code & ((1u << (kWidth - 1)) - 1);
    uint32_t normal = (magnitude << kShift) + (static_cast<uint32_t>(127 - kBias) << 23);
    float tiny = static_cast<float>(static_cast<int32_t>(magnitude)) * power_of_two(1 - kBias - kMantissa);
    uint32_t bits = magnitude < (1u << kMantissa) ? bits_as<uint32_t>(tiny) : normal;
    if (kSpecial == Special::kIeee) {
      uint32_t payload = (magnitude & ((1u << kMantissa) - 1)) << kShift;
      uint32_t special = 0x7f800000 | payload | (payload != 0 ? 0x400000u : 0u);
      bits = magnitude >= kTop ? special : bits;
    } else if (kSpecial == Special::kAllOnes) {
      bits = magnitude == (1u << (kWidth - 1)) - 1 ? 0x7fc00000 | ((1u << kMantissa) - 1) << kShift : bits;
    } else if (kSpecial == Special::kNegativeZero) {
      bits = (code & ((1u << kWidth) - 1)) == 1u << (kWidth - 1) ? 0x7fc00000 : bits;
    }
    return bits_as<float>(bits | sign);
  }

  template <Rounding kRounding>
  static inline uint32_t encode(float value) {
    uint32_t x = bits_as<uint32_t>(value);
    uint32_t sign = (x >> 31) << (kWidth - 1);
    uint32_t magnitude = x & 0x7fffffff;
    uint32_t rounding =
        kRounding == Rounding::kNearestEven ? ((1u << (kShift - 1)) - 1) + ((magnitude >> kShift) & 1) : 0;
    // bf16 is the upper half of an f32.
    if constexpr (kExponent == 8) return magnitude > 0x7f800000 ? kNan : (x + rounding) >> kShift;
    uint32_t bits = ((magnitude + rounding) >> kShift) - (static_cast<uint32_t>(127 - kBias) << kMantissa);
    if (kBias != 127) {
      uint32_t tiny;  // in units of the smallest subnormal
      if (kRounding == Rounding::kNearestEven) {
        float magic = power_of_two(24 - kBias - kMantissa);  // its last place is that unit
        tiny = bits_as<uint32_t>(bits_as<float>(magnitude) + magic) - bits_as<uint32_t>(magic);
      } else {
        float scaled = bits_as<float>(magnitude) * power_of_two(kBias - 1 + kMantissa);
        tiny = static_cast<uint32_t>(static_cast<int32_t>(scaled < 65536.0f ? scaled : 0.0f));
      }
      bits = magnitude < static_cast<uint32_t>(128 - kBias) << 23 ? tiny : bits;
    }
    constexpr uint32_t kOverflow = kSaturate ? kLargest : kTop;
    bits = bits > kLargest ? (kRounding == Rounding::kTowardZero ? kLargest : kOverflow) : bits;
    bits = magnitude >= 0x7f800000 ? kOverflow : bits;
    if (kSpecial == Special::kNegativeZero) sign = bits == 0 ? 0 : sign;
    bits |= sign;
    return magnitude > 0x7f800000 ? kNan : bits;
  }

 private:
  static constexpr float power_of_two(int exponent) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(exponent + 127) << 23);
  }
};

using F16 = Codec<5, 10, 15, Special::kIeee, 0x7bff, 0x7fff, false>;
using BF16 = Codec<8, 7, 127, Special::kIeee, 0x7f7f, 0x7fff, false>;
using E4M3 = Codec<4, 3, 7, Special::kAllOnes, 0x7e, 0x7f, true>;
using E5M2 = Codec<5, 2, 15, Special::kIeee, 0x7b, 0x7f, true>;
using E4M3Fnuz = Codec<4, 3, 8, Special::kNegativeZero, 0x7f, 0x80, true>;
using E5M2Fnuz = Codec<5, 2, 16, Special::kNegativeZero, 0x7f, 0x80, true>;
using E4B15 = Codec<4, 3, 15, Special::kNone, 0x7f, 0x7f, true>;
using E2M3 = Codec<2, 3, 1, Special::kNone, 0x1f, 0x1f, true>;
using E3M2 = Codec<3, 2, 3, Special::kNone, 0x1f, 0x1f, true>;
using E2M1 = Codec<2, 1, 1, Special::kNone, 0x7, 0x7, true>;

// cvt.rna.tf32.f32 (or truncation), as an f32 with 10 mantissa bits.
template <Rounding kRounding>
inline float round_tf32(float value) {
  uint32_t x = bits_as<uint32_t>(value);
  uint32_t magnitude = x & 0x7fffffff;
  uint32_t rounded = (x + (kRounding == Rounding::kNearestEven ? 0x1000u : 0u)) & 0xffffe000;
  uint32_t special = magnitude > 0x7f800000 ? 0x7fffffffu : x;
  return bits_as<float>(magnitude >= 0x7f800000 ? special : rounded);
}

// An f64 as f32 rounded to odd: rounding that once more to at most 22 bits, in any direction, is as from the
// f64.
inline float to_odd(double value) {
  float near = static_cast<float>(value);
  uint32_t bits = bits_as<uint32_t>(near);
  double again = near;
  bool differs = again != value && value == value;
  bool above = __builtin_fabs(again) > __builtin_fabs(value);
  return bits_as<float>(differs ? (bits - above) | 1 : bits);
}

}  // namespace
}  // namespace triton_runner::num::SIMD_ISA
