// Rounds up or down by chance, with random bits that the program brings (cvt.rs). See PTX ISA 9.7.9.21.
//
// The bits of the significand that do not fit are a fraction of the last place, the random bits another, of as many bits as the
// ISA gives to the type: where their sum carries, the value is rounded away from zero. How fewer random bits than discarded
// ones are aligned (here at the top) was not measured.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace triton_runner::num::stochastic {

inline constexpr uint32_t kStochasticSatfinite = 1, kStochasticRelu = 2;  // how

struct Format {
  int mantissa, bias;
  uint32_t sign, largest, infinity, nan;  // codes; infinity 0: none
  int random;                             // bits
};
inline constexpr Format kF16{10, 15, 0x8000, 0x7bff, 0x7c00, 0x7fff, 13};
inline constexpr Format kBf16{7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fff, 16};
inline constexpr Format kE4m3{3, 7, 0x80, 0x7e, 0, 0x7f, 16};
inline constexpr Format kE5m2{2, 15, 0x80, 0x7b, 0, 0x7f, 16};
inline constexpr Format kE2m3{3, 1, 0x20, 0x1f, 0, 0x1f, 16};
inline constexpr Format kE3m2{2, 3, 0x20, 0x1f, 0, 0x1f, 16};
inline constexpr Format kE2m1{1, 1, 0x8, 0x7, 0, 0x7, 8};

inline uint32_t rounded(const Format& f, float value, uint32_t random, uint32_t how) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const bool negative = bits >> 31;
  if (std::isnan(value)) return f.nan;
  if (negative && (how & kStochasticRelu)) return 0;
  const uint32_t sign = negative ? f.sign : 0;
  const bool saturates = (how & kStochasticSatfinite) || f.infinity == 0;
  const uint32_t too_large = saturates ? f.largest : f.infinity;
  if (std::isinf(value)) return sign | too_large;
  const int stored = static_cast<int>(bits >> 23 & 0xff), exponent = (stored ? stored : 1) - 127;
  const uint64_t significand = (bits & 0x7fffff) | (stored ? 0x800000u : 0);
  // The target's exponent, and how many bits are below its last place.
  const int target = exponent < 1 - f.bias ? 1 - f.bias : exponent;
  const int discarded = target - exponent + 23 - f.mantissa;
  uint64_t kept = 0;
  if (discarded <= 40) {
    const uint64_t rest = significand & ((uint64_t{1} << discarded) - 1);
    kept = significand >> discarded;
    kept += ((rest << f.random >> discarded) + random) >> f.random;
  }
  const uint64_t code = kept + (static_cast<uint64_t>(target + f.bias - 1) << f.mantissa);
  return sign | (code > f.largest ? too_large : static_cast<uint32_t>(code));
}

// The random bits of value `place` of a pack of two or four, which have one word of them: the first sources have the upper half.
inline uint32_t random_bits(const Format& f, uint32_t word, uint32_t place, uint32_t pack) {
  return word >> (place < (pack + 1) / 2 ? 16 : 0) & ((1u << f.random) - 1);
}

}  // namespace triton_runner::num::stochastic
