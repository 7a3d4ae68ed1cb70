// The sums of tensor cores, 16 rows of A a vector: the largest exponent of a block is found first, then a
// multiplication scales each product so that its integer part is what the hardware keeps, and integers add
// up.
#include "simd/mma_table.h"

#include <string.h>

#include "simd/common.h"

namespace triton_runner::num::NUM_ISA {
namespace {

#if defined(NUM_ISA_avx512)
constexpr int kLanes = 16;
#elif defined(NUM_ISA_avx2)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
constexpr int kRows = 16;
constexpr int32_t kNoExponent = kMmaNoExponent;

typedef float F __attribute__((vector_size(kLanes * 4)));
typedef int32_t I __attribute__((vector_size(kLanes * 4)));
typedef uint32_t U __attribute__((vector_size(kLanes * 4)));
typedef float F4 __attribute__((vector_size(16)));
typedef float F8 __attribute__((vector_size(32)));
typedef int32_t I8 __attribute__((vector_size(32)));
typedef uint16_t U8 __attribute__((vector_size(16)));
typedef int16_t S8 __attribute__((vector_size(16)));
typedef uint8_t B8 __attribute__((vector_size(8)));

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
NUM_INLINE F splat(float x) { return x - F{}; }
NUM_INLINE I splat_int(int32_t x) { return x - I{}; }
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

NUM_INLINE bool any_lane(I mask) {
#if defined(NUM_ISA_avx512)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(NUM_ISA_avx2)
  return _mm256_movemask_ps((__m256)mask) != 0;
#else
  int32_t any = 0;
  for (int l = 0; l < kLanes; ++l) any |= mask[l];
  return any != 0;
#endif
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

// --- operands --------------------------------------------------------------------------------------------

NUM_INLINE F8 widen_f16(U8 h) {
#if defined(NUM_ISA_portable)
  typedef uint32_t W __attribute__((vector_size(32)));
  W x = __builtin_convertvector(h, W);
  W magnitude = (x & 0x7fff) << 13;
  W special = (magnitude >= 0x0f800000) & (W{} + 0x70000000);  // exponent 31 becomes 255
  F8 value = (F8)magnitude * 0x1p112f;
  return (F8)(((special != 0) ? ((W)magnitude | 0x7f800000) : (W)value) | (x & 0x8000) << 16);
#else
  return (F8)_mm256_cvtph_ps((__m128i)h);
#endif
}

NUM_INLINE U8 bytes_of(const void* p) { return __builtin_convertvector(load<B8>(p), U8); }
NUM_INLINE U8 nibbles_of(const void* p) {
  uint32_t packed = load<uint32_t>(p);
  U8 out;
  for (int i = 0; i < 8; ++i) out[i] = static_cast<uint16_t>(packed >> (4 * i) & 15);
  return out;
}

// Eight elements as 16-bit codes that widen() understands.
NUM_INLINE U8 fetch(MmaCode code, const uint8_t* p) {
  switch (code) {
    case MmaCode::kF16:
    case MmaCode::kBF16:
      return load<U8>(p);
    case MmaCode::kE5M2:
      return bytes_of(p) << 8;
    case MmaCode::kE4M3: {
      U8 x = bytes_of(p);
      return (x & 0x80) << 8 | (x & 0x7f) << 7;
    }
    case MmaCode::kE3M2: {
      U8 x = bytes_of(p);
      return (x & 0x20) << 10 | (x & 0x1f) << 8;
    }
    case MmaCode::kE2M3: {
      U8 x = bytes_of(p);
      return (x & 0x20) << 10 | (x & 0x1f) << 7;
    }
    case MmaCode::kE2M1Byte: {
      U8 x = bytes_of(p);
      return (x & 0x20) << 10 | (x & 0x1c) << 7;
    }
    case MmaCode::kE2M1: {
      U8 x = nibbles_of(p);
      return (x & 8) << 12 | (x & 7) << 9;
    }
    case MmaCode::kS8:
      return (U8)((S8)(bytes_of(p) << 8) >> 8);
    case MmaCode::kU8:
      return bytes_of(p);
    case MmaCode::kS4:
      return (U8)((S8)(nibbles_of(p) << 12) >> 12);
    case MmaCode::kU4:
      return nibbles_of(p);
    case MmaCode::kTF32:
      break;
  }
  return U8{};
}

NUM_INLINE F8 widen(MmaCode code, U8 x) {
  switch (code) {
    case MmaCode::kF16:
    case MmaCode::kE5M2:
      return widen_f16(x);
    case MmaCode::kBF16:
      return (F8)(__builtin_convertvector(x, I8) << 16);
    case MmaCode::kE4M3: {
      F8 v = widen_f16(x) * 0x1p8f;
      I8 nan = ((I8)v & 0x7fffffff) == 0x43f00000;  // 480: beyond the largest, the code of NaN
      return (F8)((I8)v | (nan & 0x7fffffff));
    }
    case MmaCode::kE3M2:
      return widen_f16(x) * 0x1p12f;
    case MmaCode::kE2M3:
    case MmaCode::kE2M1Byte:
    case MmaCode::kE2M1:
      return widen_f16(x) * 0x1p14f;
    case MmaCode::kS8:
    case MmaCode::kS4:
    case MmaCode::kU8:
    case MmaCode::kU4:
      return __builtin_convertvector(__builtin_convertvector((S8)x, I8), F8);
    case MmaCode::kTF32:
      break;
  }
  return F8{};
}

constexpr int groups_of(MmaCode code) {  // of eight elements in 16 bytes
  return code == MmaCode::kF16 || code == MmaCode::kBF16                          ? 1
         : code == MmaCode::kE2M1 || code == MmaCode::kS4 || code == MmaCode::kU4 ? 4
                                                                                  : 2;
}

NUM_INLINE void transpose(U8 (&r)[8]) {
  U8 t[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 8, 1, 9, 2, 10, 3, 11);
    t[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  U8 u[8];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {  // rows 4i to 4i + 3: columns 0,1 | 2,3 | 4,5 | 6,7
    u[4 * i] = __builtin_shufflevector(t[4 * i], t[4 * i + 2], 0, 1, 8, 9, 2, 3, 10, 11);
    u[4 * i + 1] = __builtin_shufflevector(t[4 * i], t[4 * i + 2], 4, 5, 12, 13, 6, 7, 14, 15);
    u[4 * i + 2] = __builtin_shufflevector(t[4 * i + 1], t[4 * i + 3], 0, 1, 8, 9, 2, 3, 10, 11);
    u[4 * i + 3] = __builtin_shufflevector(t[4 * i + 1], t[4 * i + 3], 4, 5, 12, 13, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[2 * i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[2 * i + 1] = __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

template <MmaCode kCode>
void rows_of(const uint8_t* tile, float* out) {
  constexpr int kGroups = groups_of(kCode);
  for (int g = 0; g < kGroups; ++g) {
    U8 r[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) r[i] = fetch(kCode, tile + 16 * i + 16 / kGroups * g);
    transpose(r);
#pragma GCC unroll 8
    for (int x = 0; x < 8; ++x) store(out + (8 * g + x) * kRows, widen(kCode, r[x]));
  }
}
template <MmaCode kCode>
void columns_of(const uint8_t* tile, float* out, int64_t stride) {
  constexpr int kGroups = groups_of(kCode);
  for (int i = 0; i < 8; ++i)
    for (int g = 0; g < kGroups; ++g)
      store(out + i * stride + 8 * g, widen(kCode, fetch(kCode, tile + 16 * i + 16 / kGroups * g)));
}

template <>
void rows_of<MmaCode::kTF32>(const uint8_t* tile, float* out) {
  for (int r = 0; r < 8; ++r)
    for (int x = 0; x < 4; ++x) {
      uint32_t bits = load<uint32_t>(tile + 16 * r + 4 * x) & 0xffffe000u;
      store(out + x * kRows + r, bits);
    }
}
template <>
void columns_of<MmaCode::kTF32>(const uint8_t* tile, float* out, int64_t stride) {
  typedef uint32_t W __attribute__((vector_size(16)));
  for (int i = 0; i < 8; ++i) store(out + i * stride, load<W>(tile + 16 * i) & 0xffffe000u);
}

#define NUM_MMA_CODES(X) \
  X(kF16)                \
  X(kBF16) X(kTF32) X(kE4M3) X(kE5M2) X(kE3M2) X(kE2M3) X(kE2M1Byte) X(kE2M1) X(kS8) X(kU8) X(kS4) X(kU4)

void rows(MmaCode code, const void* tile, float* out) {
  auto* bytes = static_cast<const uint8_t*>(tile);
  switch (code) {
#define X(name)       \
  case MmaCode::name: \
    return rows_of<MmaCode::name>(bytes, out);
    NUM_MMA_CODES(X)
#undef X
  }
}

void columns(MmaCode code, const void* tile, float* out, int64_t stride) {
  auto* bytes = static_cast<const uint8_t*>(tile);
  switch (code) {
#define X(name)       \
  case MmaCode::name: \
    return columns_of<MmaCode::name>(bytes, out, stride);
    NUM_MMA_CODES(X)
#undef X
  }
}

template <bool kRange>
NUM_INLINE MmaRange exponents_of(const float* value, int32_t* exponent, int64_t n, int lowest) {
  const I floor = splat_int(lowest);
  I high = splat_int(kNoExponent), low = splat_int(128), special = {};
  for (int64_t i = 0; i < n; i += kLanes) {
    I v = load<I>(value + i) & 0x7fffffff;
    I e = (v >> 23) - 127;
    e = e > floor ? e : floor;
    special |= e > 127;
    e = v != 0 ? e : splat_int(kNoExponent);
    store(exponent + i, e);
    if constexpr (kRange) {
      high = e > high ? e : high;
      I other = v != 0 ? e : splat_int(128);
      low = other < low ? other : low;
    }
  }
  if constexpr (!kRange) return {any_lane(special) ? 128 : 0, 0};
  MmaRange r{kNoExponent, 128};
#if defined(NUM_ISA_avx512)
  r.high = _mm512_reduce_max_epi32((__m512i)high);
  r.low = _mm512_reduce_min_epi32((__m512i)low);
#else
  for (int i = 0; i < kLanes; ++i) {
    r.high = high[i] > r.high ? high[i] : r.high;
    r.low = low[i] < r.low ? low[i] : r.low;
  }
#endif
  return r;
}

MmaRange exponents(const float* value, int32_t* exponent, int64_t n, int lowest) {
  return lowest == -126 ? exponents_of<true>(value, exponent, n, lowest)
                        : exponents_of<false>(value, exponent, n, lowest);
}

bool any_special(const float* value, int64_t n) {
  I any = {};
  for (int64_t i = 0; i < n; i += kLanes) any |= (load<I>(value + i) & 0x7f800000) == 0x7f800000;
  return any_lane(any);
}

// Registers hold rows of four lanes: a 4 by 4 transposition makes columns of them.
NUM_INLINE void transpose4(F4& a, F4& b, F4& c, F4& d) {
  F4 t0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), t1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  F4 t2 = __builtin_shufflevector(c, d, 0, 4, 1, 5), t3 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(t0, t2, 0, 1, 4, 5);
  b = __builtin_shufflevector(t0, t2, 2, 3, 6, 7);
  c = __builtin_shufflevector(t1, t3, 0, 1, 4, 5);
  d = __builtin_shufflevector(t1, t3, 2, 3, 6, 7);
}

#if defined(NUM_ISA_avx512)
// Registers of rows 0 to 7 and 8 to 15 (two vectors each, of four rows) and four columns of 16 rows.
NUM_INLINE void columns_of_rows(const __m512i (&v)[4], __m512i (&column)[4]) {
  const __m512i even = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(2));
  __m512i a = _mm512_permutex2var_epi32(v[0], even, v[1]), b = _mm512_permutex2var_epi32(v[0], odd, v[1]);
  __m512i c = _mm512_permutex2var_epi32(v[2], even, v[3]), d = _mm512_permutex2var_epi32(v[2], odd, v[3]);
  column[0] = _mm512_shuffle_i64x2(a, c, 0x44);
  column[1] = _mm512_shuffle_i64x2(a, c, 0xee);
  column[2] = _mm512_shuffle_i64x2(b, d, 0x44);
  column[3] = _mm512_shuffle_i64x2(b, d, 0xee);
}
NUM_INLINE void rows_of_columns(const __m512i (&column)[4], __m512i (&v)[4]) {
  const __m512i low = _mm512_setr_epi32(0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(4));
  __m512i a = _mm512_shuffle_i64x2(column[0], column[1], 0x44),
          c = _mm512_shuffle_i64x2(column[0], column[1], 0xee);
  __m512i b = _mm512_shuffle_i64x2(column[2], column[3], 0x44),
          d = _mm512_shuffle_i64x2(column[2], column[3], 0xee);
  v[0] = _mm512_permutex2var_epi32(a, low, b);
  v[1] = _mm512_permutex2var_epi32(a, high, b);
  v[2] = _mm512_permutex2var_epi32(c, low, d);
  v[3] = _mm512_permutex2var_epi32(c, high, d);
}

void load_f32(uint32_t* sums, const uint32_t* const* registers) {
  for (int odd = 0; odd < 2; ++odd) {
    __m512i column[4];
    const __m512i v[4] = {_mm512_loadu_si512(registers[odd]), _mm512_loadu_si512(registers[odd] + 16),
                          _mm512_loadu_si512(registers[2 + odd]),
                          _mm512_loadu_si512(registers[2 + odd] + 16)};
    columns_of_rows(v, column);
    for (int t = 0; t < 4; ++t) _mm512_storeu_si512(sums + (2 * t + odd) * kRows, column[t]);
  }
}

void store_f32(const uint32_t* sums, uint32_t* const* registers) {
  for (int odd = 0; odd < 2; ++odd) {
    __m512i column[4], v[4];
    for (int t = 0; t < 4; ++t) column[t] = _mm512_loadu_si512(sums + (2 * t + odd) * kRows);
    rows_of_columns(column, v);
    for (int i = 0; i < 4; ++i) _mm512_storeu_si512(registers[i / 2 * 2 + odd] + i % 2 * 16, v[i]);
  }
}
#else
void load_f32(uint32_t* sums, const uint32_t* const* registers) {
  for (int half = 0; half < 2; ++half)
    for (int odd = 0; odd < 2; ++odd)
      for (int rows = 0; rows < 2; ++rows) {
        const uint32_t* in = registers[2 * half + odd] + 16 * rows;
        F4 r[4] = {load<F4>(in), load<F4>(in + 4), load<F4>(in + 8), load<F4>(in + 12)};
        transpose4(r[0], r[1], r[2], r[3]);
        for (int t = 0; t < 4; ++t) store(sums + (2 * t + odd) * kRows + 8 * half + 4 * rows, r[t]);
      }
}

void store_f32(const uint32_t* sums, uint32_t* const* registers) {
  for (int half = 0; half < 2; ++half)
    for (int odd = 0; odd < 2; ++odd)
      for (int rows = 0; rows < 2; ++rows) {
        F4 r[4];
        for (int t = 0; t < 4; ++t) r[t] = load<F4>(sums + (2 * t + odd) * kRows + 8 * half + 4 * rows);
        transpose4(r[0], r[1], r[2], r[3]);
        uint32_t* out = registers[2 * half + odd] + 16 * rows;
        for (int t = 0; t < 4; ++t) store(out + 4 * t, r[t]);
      }
}
#endif

}  // namespace

const MmaTable mma_table = {exact,   exact_wide, fma,         integer,  rows,
                            columns, exponents,  any_special, load_f32, store_f32};

}  // namespace triton_runner::num::NUM_ISA
