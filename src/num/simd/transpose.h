// Transposes 8 x 8 elements of two bytes in vector registers. (lanes/transpose.h does so for the matrices of
// warps.)
#pragma once
#include "simd/common.h"

#if defined(__x86_64__)
namespace triton_runner::num::SIMD_ISA {
namespace {

NUM_INLINE __m128i load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
NUM_INLINE void store128(void* p, __m128i v) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }

// 8 x 8 elements of two bytes: put(i, column i) for the rows at `in`.
template <class F>
NUM_INLINE void each_column_of_8x8(const uint16_t* in, int64_t in_stride, F put) {
  __m128i r[8], s[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) r[i] = load128(in + i * in_stride);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    s[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
    s[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    __m128i low = _mm_unpacklo_epi32(s[half], s[2 + half]), high = _mm_unpackhi_epi32(s[half], s[2 + half]);
    __m128i low2 = _mm_unpacklo_epi32(s[4 + half], s[6 + half]),
            high2 = _mm_unpackhi_epi32(s[4 + half], s[6 + half]);
    put(4 * half + 0, _mm_unpacklo_epi64(low, low2));
    put(4 * half + 1, _mm_unpackhi_epi64(low, low2));
    put(4 * half + 2, _mm_unpacklo_epi64(high, high2));
    put(4 * half + 3, _mm_unpackhi_epi64(high, high2));
  }
}

}  // namespace
}  // namespace triton_runner::num::SIMD_ISA
#endif
