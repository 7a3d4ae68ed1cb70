// Describes the floats of 19 bits and fewer, and converts f32 from and to them: with the same bits as
// types.h's from_double and to_double. decode() and Codec are integer formulas that vectorise; encode()
// rounds in any direction; f16 has instructions.
#pragma once
#include <triton_runner/num/formulas.h>
#include <triton_runner/num/type.h>

namespace triton_runner::num::SIMD_ISA {
namespace {

enum class Nans : uint8_t { kIeee, kAllOnes, kNegativeZero, kNone };  // kIeee: infinities too

struct Format {
  int32_t exponent, mantissa, bias;
  Nans nans;
  uint32_t largest, nan;

  constexpr int32_t width() const { return 1 + exponent + mantissa; }
  constexpr uint32_t top() const { return ((1u << exponent) - 1) << mantissa; }  // exponent field all ones
};
constexpr Format kF16Format{5, 10, 15, Nans::kIeee, 0x7bff, 0x7fff};
constexpr Format kBf16Format{8, 7, 127, Nans::kIeee, 0x7f7f, 0x7fff};
constexpr Format kTf32Format{8, 10, 127, Nans::kIeee, 0x3fbff, 0x3ffff};
constexpr Format kE4m3Format{4, 3, 7, Nans::kAllOnes, 0x7e, 0x7f};
constexpr Format kE5m2Format{5, 2, 15, Nans::kIeee, 0x7b, 0x7f};
constexpr Format kE4m3FnuzFormat{4, 3, 8, Nans::kNegativeZero, 0x7f, 0x80};
constexpr Format kE5m2FnuzFormat{5, 2, 16, Nans::kNegativeZero, 0x7f, 0x80};
constexpr Format kE4b15Format{4, 3, 15, Nans::kNone, 0x7f, 0x7f};
constexpr Format kE2m3Format{2, 3, 1, Nans::kNone, 0x1f, 0x1f};
constexpr Format kE3m2Format{3, 2, 3, Nans::kNone, 0x1f, 0x1f};
constexpr Format kE2m1Format{2, 1, 1, Nans::kNone, 0x7, 0x7};

NUM_INLINE constexpr float power_of_two(int32_t exponent) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(exponent + 127) << 23);
}

// NaNs are quiet and keep their sign and payload.
template <Format f>
NUM_INLINE float decode(uint32_t code) {
  constexpr int32_t shift = 23 - f.mantissa;
  const uint32_t sign = (code >> (f.width() - 1)) << 31, size = code & ((1u << (f.width() - 1)) - 1);
  if constexpr (f.exponent == 8) return bits_as<float>(code << (32 - f.width()));  // f32's upper bits
  const float unit = power_of_two(1 - f.bias - f.mantissa),
              tiny = static_cast<float>(static_cast<int32_t>(size)) * unit;
  const uint32_t normal = (size << shift) + (static_cast<uint32_t>(127 - f.bias) << 23);
  uint32_t bits = size < (1u << f.mantissa) ? bits_as<uint32_t>(tiny) : normal;
  if (f.nans == Nans::kIeee) {
    const uint32_t payload = (size & ((1u << f.mantissa) - 1)) << shift;
    bits = size >= f.top() ? 0x7f800000 | payload | (payload != 0 ? 0x400000u : 0u) : bits;
  } else if (f.nans == Nans::kAllOnes) {
    bits = size == f.nan ? 0x7fc00000 | ((1u << f.mantissa) - 1) << shift : bits;
  } else if (f.nans == Nans::kNegativeZero) {
    bits = (code & ((1u << f.width()) - 1)) == f.nan ? 0x7fc00000 : bits;
  }
  return bits_as<float>(bits | sign);
}

// Rounded to nearest even or toward zero. What is too large is infinite in the wider formats, else the largest.
template <Format f>
struct Codec {
  static NUM_INLINE float decode(uint32_t code) { return SIMD_ISA::decode<f>(code); }

  template <Rounding kRounding>
  static NUM_INLINE uint32_t encode(float value) {
    constexpr int32_t kShift = 23 - f.mantissa;
    const uint32_t x = bits_as<uint32_t>(value), size = x & 0x7fffffff;
    uint32_t sign = (x >> 31) << (f.width() - 1);
    const uint32_t rounding =
        kRounding == Rounding::kNearestEven ? ((1u << (kShift - 1)) - 1) + ((size >> kShift) & 1) : 0;
    // bf16 is the upper half of an f32.
    if constexpr (f.exponent == 8) return size > 0x7f800000 ? f.nan : (x + rounding) >> kShift;
    uint32_t bits = ((size + rounding) >> kShift) - (static_cast<uint32_t>(127 - f.bias) << f.mantissa);
    uint32_t tiny;  // in units of the smallest subnormal
    if (kRounding == Rounding::kNearestEven) {
      const float magic = power_of_two(24 - f.bias - f.mantissa);  // its last place is that unit
      tiny = bits_as<uint32_t>(bits_as<float>(size) + magic) - bits_as<uint32_t>(magic);
    } else {
      const float scaled = bits_as<float>(size) * power_of_two(f.bias - 1 + f.mantissa);
      tiny = static_cast<uint32_t>(static_cast<int32_t>(scaled < 65536.0f ? scaled : 0.0f));
    }
    bits = size < static_cast<uint32_t>(128 - f.bias) << 23 ? tiny : bits;
    constexpr uint32_t kOverflow = f.width() <= 8 ? f.largest : f.top();
    bits = bits > f.largest ? (kRounding == Rounding::kTowardZero ? f.largest : kOverflow) : bits;
    bits = size >= 0x7f800000 ? kOverflow : bits;
    if (f.nans == Nans::kNegativeZero) sign = bits == 0 ? 0 : sign;
    return size > 0x7f800000 ? f.nan : bits | sign;
  }
};

// In any direction. satfinite: what is too large, infinities too, gives the largest number.
NUM_INLINE uint32_t encode(float value, const Format& f, uint32_t direction, bool satfinite) {
  const uint32_t x = bits_as<uint32_t>(value), size = x & 0x7fffffff, sign = x >> 31, field = size >> 23;
  const uint32_t fraction = (size & 0x7fffff) | (field != 0 ? 0x800000u : 0u);
  const int32_t exponent =
      static_cast<int32_t>(field != 0 ? field : 1) - 127 + f.bias;  // 1 and above: normal
  const int32_t under = exponent < 1 ? 1 - exponent : 0;
  uint32_t shift = static_cast<uint32_t>(23 - f.mantissa + (under < 26 ? under : 26));
  shift = shift < 26 ? shift : 26;
  const uint32_t kept = fraction >> shift, rest = fraction & ((1u << shift) - 1), half = 1u << (shift - 1);
  const bool up = direction == kNearest       ? rest > half || (rest == half && (kept & 1))
                  : direction == kNearestAway ? rest >= half
                  : direction == kDownward    ? sign != 0 && rest != 0
                  : direction == kUpward      ? sign == 0 && rest != 0
                                              : false;
  uint32_t code =
      (static_cast<uint32_t>(exponent < 1 ? 0 : exponent - 1) << f.mantissa) + kept + (up ? 1u : 0u);
  const bool away =
      direction == kNearest || direction == kNearestAway || direction == (sign ? kDownward : kUpward);
  const uint32_t top = f.nans == Nans::kIeee ? f.largest + 1 : f.nans == Nans::kAllOnes ? f.nan : f.largest;
  code = code > f.largest || exponent > 1024 ? (satfinite || !away ? f.largest : top) : code;
  code = size == 0x7f800000 ? (satfinite ? f.largest : top) : code;
  code |= sign << (f.width() - 1);
  return size > 0x7f800000 ? f.nan : code;
}

// f16. kWhole: n is a multiple of 32. The instructions quiet NaNs and keep their payload on the way up; on the way
// down NaN is made canonical.
struct F16 : Codec<kF16Format> {
  static constexpr uint16_t kExponent = kF16Format.top();
  using Exact = float;  // holds a product of two
  // Widens one value in a loop that vectorises; a signaling NaN stays one.
  static NUM_INLINE float wide(uint16_t h) {
    uint32_t bits = bits_as<uint32_t>(bits_as<float>(static_cast<uint32_t>(h & 0x7fff) << 13) * 0x1p112f);
    bits |= (h & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
    return bits_as<float>(bits | static_cast<uint32_t>(h & 0x8000) << 16);
  }
  template <bool kWhole = false>
  static NUM_INLINE void widen(float* out, const uint16_t* x, int64_t n) {
    int64_t i = 0;
#if defined(SIMD_ISA_avx512)
    for (; i + 16 <= n; i += 16)
      _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i))));
#endif
#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
    for (; i + 8 <= n; i += 8)
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
#endif
    if (kWhole && i > 0) return;
#pragma GCC ivdep
    for (; i < n; ++i) out[i] = decode(x[i]);
  }
  template <Rounding kRounding = Rounding::kNearestEven, bool kWhole = false>
  static NUM_INLINE void narrow(uint16_t* o, const float* x, int64_t n) {
    int64_t i = 0;
#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
    constexpr int kMode = kRounding == Rounding::kNearestEven ? 0 : 3;
#endif
#if defined(SIMD_ISA_avx512)
    for (; i + 16 <= n; i += 16) {
      const __m512 v = _mm512_loadu_ps(x + i);
      const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
      const __m256i h = _mm256_mask_blend_epi16(nan, _mm512_cvtps_ph(v, kMode), _mm256_set1_epi16(0x7fff));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(o + i), h);
    }
#elif defined(SIMD_ISA_avx2)
    for (; i + 32 <= n; i += 32) {  // no NaN among them: nothing to make canonical
      __m256 v[4];
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) v[k] = _mm256_loadu_ps(x + i + 8 * k);
      const __m256 nan =
          _mm256_or_ps(_mm256_cmp_ps(v[0], v[1], _CMP_UNORD_Q), _mm256_cmp_ps(v[2], v[3], _CMP_UNORD_Q));
      if (_mm256_movemask_ps(nan)) break;
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(o + i + 8 * k), _mm256_cvtps_ph(v[k], kMode));
    }
    for (; i + 8 <= n; i += 8) {
      const __m256 v = _mm256_loadu_ps(x + i);
      const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
      const __m128i nan16 = _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
      const __m128i h = _mm_blendv_epi8(_mm256_cvtps_ph(v, kMode), _mm_set1_epi16(0x7fff), nan16);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(o + i), h);
    }
#endif
    if (kWhole && i > 0) return;
#pragma GCC ivdep
    for (; i < n; ++i) o[i] = static_cast<uint16_t>(encode<kRounding>(x[i]));
  }
};

struct BF16 : Codec<kBf16Format> {
  static constexpr uint16_t kExponent = kBf16Format.top();
  using Exact = double;  // products may leave f32's range
  static NUM_INLINE float wide(uint16_t h) { return decode(h); }
  template <bool = false>
  static NUM_INLINE void widen(float* out, const uint16_t* x, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = decode(x[i]);
  }
  template <Rounding kRounding = Rounding::kNearestEven, bool = false>
  static NUM_INLINE void narrow(uint16_t* o, const float* x, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = static_cast<uint16_t>(encode<kRounding>(x[i]));
  }
};

}  // namespace
}  // namespace triton_runner::num::SIMD_ISA
