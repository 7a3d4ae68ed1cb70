// Computes AMD's matrix cores as num/mfma.h describes them, over all columns of a row at once.
#include <math.h>

#include "simd/mma_lanes.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

NUM_INLINE int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }
NUM_INLINE int32_t most(int32_t a, int32_t b) { return a > b ? a : b; }
// 2 to the power of n, from -1022 to 1023.
NUM_INLINE double power(int32_t n) {
  return bits_as<double>(static_cast<uint64_t>(static_cast<int64_t>(n + 1023)) << 52);
}

// The sums of products k = first, first + step, ...: 24 bits after the point of the largest exponent, which is e.
NUM_INLINE void sum_products(const MfmaStep& s, int first, int step, int32_t* sum, int32_t* e) {
  const int n = s.columns;
  for (int j = 0; j < n; ++j) sum[j] = 0, e[j] = -1000;
  for (int k = first; k < s.k; k += step) {
    const int32_t* b = s.b_exponent + k * n;
#pragma GCC ivdep
    for (int j = 0; j < n; ++j) e[j] = most(e[j], s.a_exponent[k] + b[j]);
  }
  for (int k = first; k < s.k; k += step) {
    const int32_t *b = s.b + k * n, *b_exponent = s.b_exponent + k * n;
    const int32_t a = s.a[k], a_exponent = s.a_exponent[k];
#pragma GCC ivdep
    for (int j = 0; j < n; ++j) {
      const int32_t product = a * b[j] * (1 << s.up), by = least(e[j] - a_exponent - b_exponent[j], 31);
      const int32_t below = product < 0 ? static_cast<int32_t>((1u << by) - 1) : 0;  // toward zero
      sum[j] += (product + below) >> by;
    }
  }
}

// The accumulators are added: products are multiples of 2^(e - 24). Of the larger exponent they keep 31 bits after the point, the
// accumulator 24; what is below is cut by shifts, which round down. The last places of the two lie 0 to 8 bits apart then, so that
// their sum is exact in f64, and is rounded once.
template <bool kByHalves>
NUM_INLINE void add_products(const int32_t* sum, const int32_t* e, float* sums, int n) {
#pragma GCC ivdep
  for (int j = 0; j < n; ++j) {
    const uint32_t bits = bits_as<uint32_t>(sums[j]);
    const auto field = static_cast<int32_t>(bits >> 23 & 255);
    const int32_t own = most(field, 1), above = e[j] + 127 - own;  // how far products lie above it
    const int32_t size = static_cast<int32_t>(bits & 0x7fffff) | (field != 0 ? 0x800000 : 0);
    const int32_t other = static_cast<int32_t>(bits) < 0 ? -size : size;
    const int32_t cut = most(-above - 7, 0), other_cut = most(above - 1, 0);
    const int32_t kept = sum[j] >> least(cut, 31);
    int32_t other_kept = other >> least(other_cut, 31);
    if (kByHalves) other_kept = above <= 25 ? other_kept : 0;
    const int32_t apart = above - 1 + cut - other_cut;
    const auto total = static_cast<double>(kept) * static_cast<double>(bits_as<float>((apart + 127) << 23)) +
                       static_cast<double>(other_kept);
    sums[j] = static_cast<float>(total * power(own - 150 + other_cut));
  }
}

}  // namespace

void mfma(const MfmaStep& s) {
  const int n = s.columns;
  alignas(64) int32_t sum[kMfmaMaxColumns], e[kMfmaMaxColumns], odd[kMfmaMaxColumns], odd_e[kMfmaMaxColumns];
  sum_products(s, 0, s.by_halves ? 2 : 1, sum, e);
  if (s.by_halves) {
    sum_products(s, 1, 2, odd, odd_e);
#pragma GCC ivdep
    for (int j = 0; j < n; ++j) {
      const int32_t both = most(e[j], odd_e[j]);
      sum[j] = (sum[j] >> least(both - e[j], 31)) + (odd[j] >> least(both - odd_e[j], 31));
      e[j] = both;
    }
  }
  s.by_halves ? add_products<true>(sum, e, s.sums, n) : add_products<false>(sum, e, s.sums, n);
}

namespace {

constexpr int kR = kMfmaRows;
constexpr int16_t kSmallest =
    -100;  // the least exponent of a product of what mfma_rows() takes, unless it is 0

NUM_INLINE I least(I a, I b) { return a < b ? a : b; }
NUM_INLINE I most(I a, I b) { return a > b ? a : b; }

NUM_INLINE F fused(float a, F b, F c) {
#if defined(SIMD_ISA_avx512)
  return (F)_mm512_fmadd_ps(_mm512_set1_ps(a), (__m512)b, (__m512)c);
#elif defined(SIMD_ISA_avx2)
  return (F)_mm256_fmadd_ps(_mm256_set1_ps(a), (__m256)b, (__m256)c);
#else
  F out;
  for (int l = 0; l < kLanes; ++l) out[l] = __builtin_fmaf(a, b[l], c[l]);
  return out;
#endif
}

// The sums of products first, first + step, ... below `end` of kR rows and kLanes columns, and their exponents.
NUM_INLINE void sum_rows(const MfmaRows& s, int column, int first, int step, int end, I (&sum)[kR],
                         I (&e)[kR]) {
  const float *a = s.a, *b = s.b + column;
  const int16_t *a_exponent = s.a_exponent, *b_exponent = s.b_exponent + column;
  Short largest[kR];  // of the products
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) largest[r] = Short{} + kSmallest, sum[r] = I{};
  for (int k = first; k < end; k += step) {
    const Short other = load<Short>(b_exponent + k * s.columns);
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) {
      const Short both = other + a_exponent[k * s.rows + r];
      largest[r] = largest[r] > both ? largest[r] : both;
    }
  }
  F scale[kR];
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
    e[r] = widen(largest[r]);
    scale[r] = (F)((127 + 24 - e[r]) << 23);
  }
  for (int k = first; k < end; k += step) {
    const F other = load<F>(b + k * s.columns);
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r)
      sum[r] += __builtin_convertvector(a[k * s.rows + r] * other * scale[r], I);  // toward zero
  }
}

// Whether each sum is 0 or of a size from 2^kSmallest on, and finite.
NUM_INLINE bool are_plain(float* const* sums, int n) {
  constexpr int32_t kFirst = (127 + kSmallest) << 23;
  I odd{};
  for (int r = 0; r < kR; ++r)
    for (int i = 0; i < n; i += kLanes) {
      const I size = load<I>(sums[r] + i) & 0x7fffffff;
      odd |= ((size < kFirst) & (size != 0)) | (size >= 0x7f800000);
    }
  return !any_lane(odd);
}

#if defined(SIMD_ISA_avx512)
// add_products() of what mfma_rows() takes, in units of the last place that products keep: 2^(e - 24), or more where the
// accumulator's exponent is larger by more than 7. An accumulator that is not cut is a whole number of them, and so is the result,
// which is rounded once.
template <bool kByHalves>
NUM_INLINE F added(I sum, I e, F sums) {
  constexpr int kDown = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
  const I below = most(((I)sums >> 23) & 255, splat_int(1)) - (e + 127), cut = most(below - 7, I{});
  const __m512i kept = _mm512_srav_epi32((__m512i)sum, (__m512i)cut);
  const I units = (151 - e - cut) << 23, unit = splat_int(254 << 23) - units;
  __m512 other = _mm512_mul_round_ps((__m512)sums, (__m512)units, kDown);
  const __mmask16 counts =
      kByHalves ? _mm512_cmpge_epi32_mask((__m512i)below, _mm512_set1_epi32(-25)) : __mmask16(-1);
  other = _mm512_maskz_roundscale_ps(counts, other, kDown);
  const auto half = [](__m256i k, __m256 o) {
    return _mm512_cvtpd_ps(_mm512_add_pd(_mm512_cvtepi32_pd(k), _mm512_cvtps_pd(o)));
  };
  const __m256 low = half(_mm512_castsi512_si256(kept), _mm512_castps512_ps256(other)),
               high = half(_mm512_extracti64x4_epi64(kept, 1), _mm512_extractf32x8_ps(other, 1));
  return (F)_mm512_mul_ps(_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1), (__m512)unit);
}
#endif

// One group of kR rows and kLanes columns.
template <bool kByHalves>
NUM_INLINE void add_group(const MfmaRows& s, int column, int first) {
  const int end = first + s.group < s.k ? first + s.group : s.k;
  I sum[kR], e[kR];
  sum_rows(s, column, first, kByHalves ? 2 : 1, end, sum, e);
  if constexpr (kByHalves) {
    I odd[kR], odd_e[kR];
    sum_rows(s, column, first + 1, 2, end, odd, odd_e);
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) {
      const I both = most(e[r], odd_e[r]);
      sum[r] =
          (sum[r] >> least(both - e[r], splat_int(31))) + (odd[r] >> least(both - odd_e[r], splat_int(31)));
      e[r] = both;
    }
  }
#if defined(SIMD_ISA_avx512)
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r)
    store(s.sums[r] + column, added<kByHalves>(sum[r], e[r], load<F>(s.sums[r] + column)));
#else
  alignas(64) int32_t products[kR][kLanes], exponents[kR][kLanes];
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) store(products[r], sum[r]), store(exponents[r], e[r]);
  for (int r = 0; r < kR; ++r) add_products<kByHalves>(products[r], exponents[r], s.sums[r] + column, kLanes);
#endif
}

template <bool kByHalves>
int add_groups(const MfmaRows& s, int first) {
  for (int k = first; k < s.k; k += s.group) {
    if (!are_plain(s.sums, s.columns)) return k;
    for (int column = 0; column < s.columns; column += kLanes) add_group<kByHalves>(s, column, k);
  }
  return s.k;
}

}  // namespace

int mfma_rows(const MfmaRows& s, int first) {
  return s.by_halves ? add_groups<true>(s, first) : add_groups<false>(s, first);
}

void mfma_chain_rows(const MfmaRows& s) {
  for (int column = 0; column < s.columns; column += kLanes) {
    F sums[kR];
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) sums[r] = load<F>(s.sums[r] + column);
    for (int k = 0; k < s.k; ++k) {
      const F b = load<F>(s.b + k * s.columns + column);
#pragma GCC unroll 4
      for (int r = 0; r < kR; ++r) sums[r] = fused(s.a[k * s.rows + r], b, sums[r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) store(s.sums[r] + column, sums[r]);
  }
}

void mfma_chain(const float* a, const float* b, float* sums, int columns, int k) {
  for (int i = 0; i < k; ++i)
#pragma GCC ivdep
    for (int j = 0; j < columns; ++j) sums[j] = fma{}(a[i], b[i * columns + j], sums[j]);
}

void mfma_parts(const float* value, int64_t n, int smallest, int fraction, int32_t* out, int32_t* exponent) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = bits_as<uint32_t>(value[i]);
    const auto field = static_cast<int32_t>(bits >> 23 & 255);
    const int32_t size = static_cast<int32_t>(bits & 0x7fffff) | (field != 0 ? 0x800000 : 0);
    const int32_t own = most(field, 1) - 127, e = most(own, smallest);
    const int32_t s = size >> least(23 - fraction + e - own, 31);
    out[i] = static_cast<int32_t>(bits) < 0 ? -s : s;
    exponent[i] = size != 0 ? e : -126;
  }
}

MfmaSizes mfma_exponents(const float* value, int64_t n, int smallest, int16_t* exponent) {
  uint32_t high = 0, low = ~uint32_t{0};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t size = bits_as<uint32_t>(value[i]) & 0x7fffffff;
    high = high > size ? high : size;
    low = low < size - 1 ? low : size - 1;
    const int32_t own = most(static_cast<int32_t>(size >> 23), 1) - 127;
    exponent[i] = static_cast<int16_t>(size != 0 ? most(own, smallest) : -126);
  }
  return {high, low};
}

void mfma_halves(const uint32_t* words, int n, int shift, uint16_t* to) {
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) to[i] = static_cast<uint16_t>(words[i] >> shift);
}

}  // namespace triton_runner::num::SIMD_ISA
