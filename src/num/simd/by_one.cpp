// Computes f32 ops whose second operand is one element for all: that operand is not laid out as an array.
#include "simd/common.h"
#include "simd/streams.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

template <class F>
void map_by_one(void* out, const void* a, const void* b, const void*, int64_t n) {
  auto* o = static_cast<float*>(out);
  auto* x = static_cast<const float*>(a);
  const float y = *static_cast<const float*>(b);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = F{}(x[i], y);
}

#if defined(SIMD_ISA_avx512)
// Correctly rounded quotients without a division, as long as nothing comes near the ends of the exponents'
// range. 1/y is kept as a sum, of which the product with x is less than an ulp from x/y; its remainder is
// exact, and what it is worth, by the nearest 1/y, then rounds to the quotient: a quotient of floats is too
// far from the middle of two for the errors that are left. The larger part of the sum is rounded down, so
// that the smaller one has no sign of its own, and zeros keep theirs.
struct Divisor {
  static constexpr float kLeast = 0x1p-30f, kMost = 0x1p30f;  // of y; x, if not 0, is between their squares
  float y, near, low, rest;
  explicit Divisor(float y) : y(y), near(1.0f / y), low(near), rest(0) {
    if (__builtin_fmaf(low, y, -1.0f) > 0) low = bits_as<float>(bits_as<uint32_t>(low) - 1);
    rest = __builtin_fmaf(-low, y, 1.0f) * near;
  }
  static bool takes(float y) { return y >= kLeast && y <= kMost; }
  NUM_INLINE __m512 quotient(__m512 x) const {
    const __m512 q = _mm512_fmadd_ps(x, _mm512_set1_ps(low), x * rest);
    const __m512 over = _mm512_fmsub_ps(q, _mm512_set1_ps(y), x);
    return _mm512_fnmadd_ps(over, _mm512_set1_ps(near), q);
  }
};

void divide_by_one(void* out, const void* a, const void* b, const void* c, int64_t n) {
  constexpr int kVectors = 8;
  auto* o = static_cast<float*>(out);
  auto* x = static_cast<const float*>(a);
  const float y = *static_cast<const float*>(b);
  int64_t i = 0;
  if (Divisor::takes(y)) {
    const Divisor divisor(y);
    // Twice the bits: no signs. 0 less 1 is more than all others.
    const __m512i least = _mm512_set1_epi32(static_cast<int>(bits_as<uint32_t>(0x1p-60f) * 2 - 1)),
                  most = _mm512_set1_epi32(static_cast<int>(bits_as<uint32_t>(0x1p60f) * 2));
    for (; i + 16 * kVectors <= n; i += 16 * kVectors) {
      __m512 v[kVectors];
      __m512i smallest = least, largest = most;
#pragma GCC unroll 8
      for (int k = 0; k < kVectors; ++k) {
        v[k] = _mm512_loadu_ps(x + i + 16 * k);
        const __m512i bits = _mm512_castps_si512(v[k]), twice = _mm512_add_epi32(bits, bits);
        largest = _mm512_max_epu32(largest, twice);
        smallest = _mm512_min_epu32(smallest, _mm512_add_epi32(twice, _mm512_set1_epi32(-1)));
      }
      const __mmask16 outside =
          _mm512_cmpneq_epu32_mask(largest, most) | _mm512_cmpneq_epu32_mask(smallest, least);
      if (outside) {
#pragma GCC unroll 8
        for (int k = 0; k < kVectors; ++k) _mm512_storeu_ps(o + i + 16 * k, v[k] / y);
      } else {
#pragma GCC unroll 8
        for (int k = 0; k < kVectors; ++k) _mm512_storeu_ps(o + i + 16 * k, divisor.quotient(v[k]));
      }
    }
  }
  return map_by_one<div>(o + i, x + i, b, c, n - i);
}
#else
constexpr Loop divide_by_one = map_by_one<div>;
#endif

}  // namespace

Loop find_by_one(Loop loop) {
  auto is = [loop](FloatFunctor f) { return loop == find_float(f, Type::kF32, Type::kF32); };
  if (is(FloatFunctor::addf)) return map_by_one<add>;
  if (is(FloatFunctor::subf)) return map_by_one<sub>;
  if (is(FloatFunctor::mulf)) return map_by_one<mul>;
  if (is(FloatFunctor::divf)) return divide_by_one;
  return find_exp_by_one(loop);
}

}  // namespace triton_runner::num::SIMD_ISA
