// f16 and bf16 as f32, in blocks.
#pragma once
#include "simd/floats.h"

namespace triton_runner::ptx::SIMD_ISA {
namespace {

// n is a multiple of 32. NaNs become 0x7fff.
struct F16 {
  static constexpr uint16_t kExponent = 0x7c00;
  PTX_INLINE static float wide(uint16_t h) {
    uint32_t bits = bits_as<uint32_t>(bits_as<float>(uint32_t(h & 0x7fff) << 13) * 0x1p112f);
    bits |= (h & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
    return bits_as<float>(bits | uint32_t(h & 0x8000) << 16);
  }
  PTX_INLINE static uint16_t narrow(float value) {
    uint32_t x = bits_as<uint32_t>(value), size = x & 0x7fffffff;
    uint32_t bits = ((size + 0xfff + (size >> 13 & 1)) >> 13) - (112u << 10);
    uint32_t tiny = bits_as<uint32_t>(bits_as<float>(size) + 0.5f) - bits_as<uint32_t>(0.5f);
    bits = size < 0x38800000 ? tiny : bits;
    bits = size >= 0x47800000 || bits > 0x7bff ? 0x7c00 : bits;
    bits |= (x >> 16) & 0x8000;
    return uint16_t(size > 0x7f800000 ? 0x7fff : bits);
  }
  PTX_INLINE static void decode(float* out, const uint16_t* in, size_t n) {
#if defined(SIMD_ISA_avx512)
    for (size_t i = 0; i < n; i += 16)
      _mm512_storeu_ps(out + i,
                       _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i))));
#elif defined(SIMD_ISA_avx2)
    for (size_t i = 0; i < n; i += 8)
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
#else
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) out[i] = wide(in[i]);
#endif
  }
  PTX_INLINE static void encode(uint16_t* out, const float* in, size_t n) {
#if defined(SIMD_ISA_avx512)
    for (size_t i = 0; i < n; i += 16) {
      __m512 x = _mm512_loadu_ps(in + i);
      __m256i h = _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      h = _mm256_mask_set1_epi16(h, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), 0x7fff);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), h);
    }
#elif defined(SIMD_ISA_avx2)
    for (size_t i = 0; i < n; i += 8) {
      __m256 x = _mm256_loadu_ps(in + i);
      __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
      __m128i nan16 = _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
      __m128i h = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      h = _mm_blendv_epi8(h, _mm_set1_epi16(0x7fff), nan16);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), h);
    }
#else
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) out[i] = narrow(in[i]);
#endif
  }
  // a * b + c so that rounding it to f16 rounds once: the product is exact, the sum is rounded to odd.
  PTX_INLINE static float fused_odd(float a, float b, float c) {
    float p = a * b, s = p + c, part = s - p, error = (p - (s - part)) + (c - part);
    bool inexact = error < 0.0f || error > 0.0f, even = (bits_as<uint32_t>(s) & 1) == 0;
    uint32_t step = (error > 0.0f) == (s > 0.0f) ? 1u : ~0u;
    return bits_as<float>(bits_as<uint32_t>(s) + (inexact && even ? step : 0u));
  }
};

// An f64 as f32 rounded to odd: rounding that once more to at most 22 bits, in any direction, is as from the
// f64.
PTX_INLINE float to_odd(double value) {
  float near = float(value);
  double again = near;
  bool differs = again != value && value == value;
  bool above = __builtin_fabs(again) > __builtin_fabs(value);
  uint32_t bits = bits_as<uint32_t>(near);
  return bits_as<float>(differs ? (bits - above) | 1 : bits);
}

struct BF16 {
  static constexpr uint16_t kExponent = 0x7f80;
  PTX_INLINE static float wide(uint16_t h) { return bits_as<float>(uint32_t(h) << 16); }
  PTX_INLINE static uint16_t narrow(float value) {
    uint32_t x = bits_as<uint32_t>(value);
    uint32_t bits = (x + 0x7fff + (x >> 16 & 1)) >> 16;
    return uint16_t((x & 0x7fffffff) > 0x7f800000 ? 0x7fff : bits);
  }
  PTX_INLINE static void decode(float* out, const uint16_t* in, size_t n) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) out[i] = wide(in[i]);
  }
  PTX_INLINE static void encode(uint16_t* out, const float* in, size_t n) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) out[i] = narrow(in[i]);
  }
  PTX_INLINE static float fused_odd(float a, float b, float c) {  // bf16 products may leave f32's range
    double p = double(a) * double(b), s = p + double(c), part = s - p,
           error = (p - (s - part)) + (double(c) - part);
    bool inexact = error < 0.0 || error > 0.0, even = (bits_as<uint64_t>(s) & 1) == 0;
    uint64_t step = (error > 0.0) == (s > 0.0) ? 1u : ~uint64_t(0);
    return to_odd(bits_as<double>(bits_as<uint64_t>(s) + (inexact && even ? step : 0u)));
  }
};

template <class T>
PTX_INLINE uint16_t flushed_half(uint16_t h) {
  return h & T::kExponent ? h : h & 0x8000;
}

}  // namespace
}  // namespace triton_runner::ptx::SIMD_ISA
