// Has the vectors of the tensor cores' operands and sums, for mma.cpp and mma_operands.cpp.
#pragma once
#include <string.h>

#include "simd/common.h"
#include "simd/mma_table.h"
#include "simd/width.h"

namespace triton_runner::num::SIMD_ISA {

namespace {

constexpr int kLanes = kVectorBytes / 4;
constexpr int kRows = 16;
constexpr int32_t kNoExponent = kMmaNoExponent;

typedef float F __attribute__((vector_size(kLanes * 4)));
typedef int32_t I __attribute__((vector_size(kLanes * 4)));
typedef int16_t Short __attribute__((vector_size(kLanes * 2)));

template <class V>
NUM_INLINE V load(const void* p) {
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
NUM_INLINE void store(void* p, V v) {
  memcpy(p, &v, sizeof v);
}
NUM_INLINE I splat_int(int32_t x) { return x - I{}; }

NUM_INLINE I widen(Short x) {
#if defined(SIMD_ISA_avx512)
  return (I)_mm512_cvtepi16_epi32((__m256i)x);
#elif defined(SIMD_ISA_avx2)
  return (I)_mm256_cvtepi16_epi32((__m128i)x);
#else
  return __builtin_convertvector(x, I);
#endif
}
NUM_INLINE Short narrow(I x) {  // that fit
#if defined(SIMD_ISA_avx512)
  return (Short)_mm512_cvtepi32_epi16((__m512i)x);
#elif defined(SIMD_ISA_avx2)
  return (Short)_mm_packs_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
#else
  return __builtin_convertvector(x, Short);
#endif
}

NUM_INLINE bool any_lane(I mask) {
#if defined(SIMD_ISA_avx512)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(SIMD_ISA_avx2)
  return _mm256_movemask_ps((__m256)mask) != 0;
#else
  int32_t any = 0;
  for (int l = 0; l < kLanes; ++l) any |= mask[l];
  return any != 0;
#endif
}

}  // namespace
}  // namespace triton_runner::num::SIMD_ISA
