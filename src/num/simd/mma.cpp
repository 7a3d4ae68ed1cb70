// The sums of tensor cores, 16 rows of A a vector: the largest exponent of a block is found first, then a
// multiplication scales each product so that its integer part is what the hardware keeps, and integers add
// up.
#include "simd/mma_lanes.h"

namespace triton_runner::num::NUM_ISA {
namespace {

typedef uint32_t U __attribute__((vector_size(kLanes * 4)));

NUM_INLINE F splat(float x) { return x - F{}; }
NUM_INLINE I truncate(F x) { return __builtin_convertvector(x, I); }

// The step's result from its parts: value = (high * 256 + low) * 2^(exponent - 127 - fraction), exactly.
NUM_INLINE float round_sum(double value, int result, bool f16) {
  float f = static_cast<float>(value);
  double magnitude = __builtin_fabs(value);
  uint32_t bits = bits_as<uint32_t>(f);
  // Toward zero; what is too large for f32 stays infinite.
  bits -= __builtin_fabs(static_cast<double>(f)) > magnitude && magnitude < 0x1p128 ? 1 : 0;
  if (f16) {
    // What was cut off is remembered in the last bit, so that rounding once more is rounding once.
    bits |= static_cast<double>(bits_as<float>(bits)) != value ? 1 : 0;
    uint32_t sign = bits & 0x80000000u, x = bits & 0x7fffffffu;
    uint32_t normal = (x + 0xfff + ((x >> 13) & 1)) & ~0x1fffu;
    normal = normal >= 0x47800000u ? 0x7f800000u : normal;
    float small = (bits_as<float>(x) + 0.75f) - 0.75f;  // multiples of 2^-24
    x = x < 0x38800000u ? bits_as<uint32_t>(small) : normal;
    return bits_as<float>(x == 0 ? 0 : sign | x);
  }
  bits &= ~((uint32_t{1} << (23 - result)) - 1);
  return bits_as<float>((bits & 0x7fffffffu) == 0 ? 0 : bits);  // no -0
}

// round_sum of every lane. `exponent` is biased.
[[gnu::noinline]] F finish_exactly(I high, I low, I exponent, const MmaStep& s) {
  F out;
  for (int l = 0; l < kLanes; ++l) {
    double scale = bits_as<double>(static_cast<uint64_t>(exponent[l] - 127 - s.fraction + 1023) << 52);
    double value = (static_cast<double>(high[l]) * 256.0 + static_cast<double>(low[l])) * scale;
    out[l] = round_sum(value, s.result, s.f16);
  }
  return out;
}

// What overflows belongs to products with infinities and NaNs, whose sums the caller replaces.
NUM_INLINE I wrapping_sum(I a, I b) { return (I)((U)a + (U)b); }

// -x; INT32_MIN, which only rare lanes have, stays.
NUM_INLINE I negated(I x) { return (I)(U{} - (U)x); }

// The same for sums of less than 2^30 with results that are normal numbers; *rare: lanes that are not so.
template <bool kF16>
NUM_INLINE F finish(I high, I low, I exponent, int fraction, I kept, I* rare) {
  I total = (I)((U)high * 256 + (U)low);
  I scale = exponent - fraction;
  *rare |= ((high + (1 << 22)) >> 23) != 0;
  *rare |= (scale < 1) & (total != 0);
  F f = __builtin_convertvector(total, F);
  I back = truncate(f);
  I magnitude = total < 0 ? negated(total) : total, rounded = back < 0 ? negated(back) : back;
  f = (F)((I)f + (rounded > magnitude));  // toward zero
  if constexpr (kF16) f = (F)((I)f | ((truncate(f) != total) & 1));
  f *= (F)((scale > 0 ? scale : I{}) << 23);
  if constexpr (!kF16) return (F)((I)f & kept);
  I bits = (I)f, sign = bits & INT32_MIN, x = bits & INT32_MAX;
  I normal = (x + 0xfff + ((x >> 13) & 1)) & ~0x1fff;
  normal = normal >= 0x47800000 ? splat_int(0x7f800000) : normal;
  I small = (I)(((F)x + 0.75f) - 0.75f);  // multiples of 2^-24
  x = x < 0x38800000 ? small : normal;
  return (F)((sign | x) & (x != 0));  // no -0
}

// Terms that an int32 sum holds: the accumulator and this many products of less than 2^(fraction + 2).
NUM_INLINE int chunk_of(int fraction) { return fraction >= 25 ? 8 : fraction == 24 ? 16 : 1 << 20; }

template <bool kF16>
NUM_INLINE void exact_columns(const MmaStep& s) {
  constexpr int kColumns = 4;
  const int fraction = s.fraction, k = s.k;
  const int left = fraction > 23 ? fraction - 23 : 0, right = fraction < 23 ? 23 - fraction : 0;
  const int chunk = chunk_of(fraction);
  const I kept = splat_int(~((1 << (23 - s.result)) - 1));
  for (int j = 0; j < s.columns; j += kColumns) {
    const float* b = s.b + j * s.b_stride;
    const int32_t* b_exponent = s.b_exponent + j * s.b_stride;
    for (int part = 0; part < kRows; part += kLanes) {
      I largest[kColumns];
#pragma GCC unroll 4
      for (int q = 0; q < kColumns; ++q) largest[q] = splat_int(kNoExponent);
      for (int x = 0; x < k; ++x) {
        I a = load<I>(s.a_exponent + x * kRows + part);
#pragma GCC unroll 4
        for (int q = 0; q < kColumns; ++q) {
          I e = a + b_exponent[q * s.b_stride + x];
          largest[q] = e > largest[q] ? e : largest[q];
        }
      }
      F scale[kColumns];
      I sum[kColumns], exponent[kColumns];
#pragma GCC unroll 4
      for (int q = 0; q < kColumns; ++q) {
        I c = load<I>(s.sums + (j + q) * kRows + part);
        I c_exponent = (c >> 23) & 255;
        I mantissa = (c & 0x7fffff) | (c_exponent != 0 ? splat_int(0x800000) : I{});
        I c_scale = c_exponent > 1 ? c_exponent : splat_int(1);
        I zero = (c & 0x7fffffff) == 0;
        I seen = kF16 ? (c_exponent > 113 ? c_exponent : splat_int(113)) : c_scale;
        seen &= ~zero;
        I e = largest[q] + 127;
        e = e > seen ? e : seen;
        exponent[q] = e;
        I scale_exponent = 254 + fraction - e;
        scale_exponent = scale_exponent < 254 ? scale_exponent : splat_int(254);
        scale[q] = (F)(scale_exponent << 23);
        I shift = e - c_scale + right;
        shift = shift < 31 ? shift : splat_int(31);
        shift = shift > 0 ? shift : I{};
        I term = (mantissa << left) >> shift;
        I sign = c >> 31;
        sum[q] = (term ^ sign) - sign;
      }
      I high[kColumns] = {};
      for (int x = 0; x < k;) {
        int end = x + chunk < k ? x + chunk : k;
        for (; x < end; ++x) {
          F a = load<F>(s.a + x * kRows + part);
#pragma GCC unroll 4
          for (int q = 0; q < kColumns; ++q)
            sum[q] = wrapping_sum(sum[q], truncate(a * splat(b[q * s.b_stride + x]) * scale[q]));
        }
        if (x < k)
#pragma GCC unroll 4
          for (int q = 0; q < kColumns; ++q) {
            high[q] = wrapping_sum(high[q], sum[q] >> 8);
            sum[q] &= 255;
          }
      }
      F results[kColumns];
      I rare = {};
#pragma GCC unroll 4
      for (int q = 0; q < kColumns; ++q)
        results[q] = finish<kF16>(high[q], sum[q], exponent[q], fraction, kept, &rare);
      if (any_lane(rare)) [[unlikely]]
        for (int q = 0; q < kColumns; ++q) results[q] = finish_exactly(high[q], sum[q], exponent[q], s);
#pragma GCC unroll 4
      for (int q = 0; q < kColumns; ++q) store(s.sums + (j + q) * kRows + part, results[q]);
    }
  }
}

void exact(const MmaStep& s) { s.f16 ? exact_columns<true>(s) : exact_columns<false>(s); }

// Toward zero; what an int64 cannot hold, NaN too, becomes the least one, as the instruction does it.
NUM_INLINE uint64_t truncate(double v) {
  return v > -0x1p63 && v < 0x1p63 ? static_cast<uint64_t>(static_cast<int64_t>(v)) : uint64_t{1} << 63;
}

// As exact, in f64: exponents of any size.
void exact_wide(const MmaStep& s) {
  for (int j = 0; j < s.columns; ++j) {
    const float* b = s.b + j * s.b_stride;
    const int32_t* b_exponent = s.b_exponent + j * s.b_stride;
    float* sums = s.sums + j * kRows;
    double scales[kRows];
    int32_t largest[kRows];
    for (int l = 0; l < kRows; ++l) {
      scales[l] = (s.row_scale ? static_cast<double>(s.row_scale[l]) : 1.0) *
                  (s.column_scale ? static_cast<double>(s.column_scale[j]) : 1.0);
      largest[l] = kNoExponent;
    }
    for (int x = 0; x < s.k; ++x)
      for (int l = 0; l < kRows; ++l) {
        int32_t e = s.a_exponent[x * kRows + l] + b_exponent[x];
        largest[l] = e > largest[l] ? e : largest[l];
      }
    double quantum[kRows], factor[kRows];
    uint64_t total[kRows];  // two's complement: what overflows is replaced, as above
    for (int l = 0; l < kRows; ++l) {
      int64_t e = largest[l] + static_cast<int64_t>(bits_as<uint64_t>(scales[l]) >> 52) - 1023;
      uint32_t c = bits_as<uint32_t>(sums[l]);
      int64_t c_exponent = static_cast<int64_t>(c >> 23 & 255) - 127;
      int64_t lowest = s.f16 ? -14 : -126;
      c_exponent = c_exponent > lowest ? c_exponent : lowest;
      c_exponent = (c & 0x7fffffffu) == 0 ? kNoExponent : c_exponent;
      e = e > c_exponent ? e : c_exponent;
      e = e > s.min_exponent ? e : s.min_exponent;
      quantum[l] = bits_as<double>(static_cast<uint64_t>(e - s.fraction + 1023) << 52);
      factor[l] = bits_as<double>(static_cast<uint64_t>(s.fraction - e + 1023) << 52);
      total[l] = truncate(static_cast<double>(sums[l]) * factor[l]);
    }
    for (int x = 0; x < s.k; ++x)
      for (int l = 0; l < kRows; ++l)
        total[l] += truncate(static_cast<double>(s.a[x * kRows + l]) * static_cast<double>(b[x]) * scales[l] *
                             factor[l]);
    for (int l = 0; l < kRows; ++l)
      sums[l] = round_sum(static_cast<double>(static_cast<int64_t>(total[l])) * quantum[l], s.result, s.f16);
  }
}

void fma(const MmaStep& s) {
  constexpr int kColumns = 8;  // enough sums to hide the latency of one
  for (int j = 0; j < s.columns; j += kColumns) {
    const float* b = s.b + j * s.b_stride;
    float* sums = s.sums + j * kRows;
    for (int part = 0; part < kRows; part += kLanes) {
      F sum[kColumns];
#pragma GCC unroll 8
      for (int q = 0; q < kColumns; ++q) sum[q] = load<F>(sums + q * kRows + part);
      for (int x = 0; x < s.k; ++x) {
        F a = load<F>(s.a + x * kRows + part);
#pragma GCC unroll 8
        for (int q = 0; q < kColumns; ++q) {
          F y = splat(b[q * s.b_stride + x]);
#if defined(NUM_ISA_avx512)
          sum[q] = (F)_mm512_fmadd_ps((__m512)a, (__m512)y, (__m512)sum[q]);
#elif defined(NUM_ISA_avx2)
          sum[q] = (F)_mm256_fmadd_ps((__m256)a, (__m256)y, (__m256)sum[q]);
#else
          sum[q] += a * y;  // products of tensor-core operands are exact in f32, short of its range
#endif
        }
      }
#pragma GCC unroll 8
      for (int q = 0; q < kColumns; ++q) store(sums + q * kRows + part, sum[q]);
    }
    if (s.f16)
      for (int i = 0; i < kColumns * kRows; ++i)
        sums[i] = __builtin_isnan(sums[i]) ? sums[i] : round_sum(static_cast<double>(sums[i]), 23, true);
  }
}

void integer(const MmaStep& s, bool saturate) {
  auto* sums = reinterpret_cast<int32_t*>(s.sums);
  for (int j = 0; j < s.columns; ++j) {
    alignas(64) float products[kRows] = {};
    const float* b = s.b + j * s.b_stride;
    for (int x = 0; x < s.k; ++x)
      for (int l = 0; l < kRows; ++l) products[l] += s.a[x * kRows + l] * b[x];  // below 2^24: exact
    int32_t* out = sums + j * kRows;
    for (int l = 0; l < kRows; ++l) {
      int64_t wide = static_cast<int64_t>(out[l]) + static_cast<int32_t>(products[l]);
      int64_t clamped = wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : wide;
      out[l] = static_cast<int32_t>(saturate ? clamped : static_cast<int64_t>(static_cast<uint32_t>(wide)));
    }
  }
}

}  // namespace

const MmaTable mma_table = {exact,         exact_wide,      fma,          integer,      mma_rows, mma_columns,
                            mma_exponents, mma_any_special, mma_load_f32, mma_store_f32};

}  // namespace triton_runner::num::NUM_ISA
