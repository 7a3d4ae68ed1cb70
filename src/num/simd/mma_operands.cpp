// Reads operands of tensor cores as floats with their exponents, and moves sums between registers and
// columns.
#include "simd/mma_lanes.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

typedef float F4 __attribute__((vector_size(16)));
typedef float F8 __attribute__((vector_size(32)));
typedef int32_t I8 __attribute__((vector_size(32)));
typedef uint16_t U8 __attribute__((vector_size(16)));
typedef int16_t S8 __attribute__((vector_size(16)));
typedef uint8_t B8 __attribute__((vector_size(8)));

NUM_INLINE F8 widen_f16(U8 h) {
#if defined(SIMD_ISA_portable)
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

// The sign, and what is below it, where an f16 has them.
NUM_INLINE U8 as_f16(U8 x, uint16_t sign, int sign_by, uint16_t rest, int by) {
  return (x & sign) << sign_by | (x & rest) << by;
}

// Eight elements as 16-bit codes that widen() understands.
NUM_INLINE U8 fetch(MmaCode code, const uint8_t* p) {
  switch (code) {
    case MmaCode::kF16:
    case MmaCode::kBF16:
      return load<U8>(p);
    case MmaCode::kE5M2:
      return bytes_of(p) << 8;
    case MmaCode::kE4M3:
      return as_f16(bytes_of(p), 0x80, 8, 0x7f, 7);
    case MmaCode::kE3M2:
      return as_f16(bytes_of(p), 0x20, 10, 0x1f, 8);
    case MmaCode::kE2M3:
      return as_f16(bytes_of(p), 0x20, 10, 0x1f, 7);
    case MmaCode::kE2M1Byte:
      return as_f16(bytes_of(p), 0x20, 10, 0x1c, 7);
    case MmaCode::kE2M1:
      return as_f16(nibbles_of(p), 8, 12, 7, 9);
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

// The place of eight elements, of rows in ascending or in the registers' order: element x of k.
struct Rows {
  static constexpr int kOrder[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  NUM_INLINE static void put(float* out, int x, F8 v) { store(out + x * kRows, v); }
};
struct SortedRows {
  static constexpr int kOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  NUM_INLINE static void put(float* out, int x, F8 v) { store(out + x * 8, v); }
};
struct SpreadRows : Rows {
  NUM_INLINE static void put(float* out, int x, F8 v) {
    out += x * kMmaSpread;
#if defined(SIMD_ISA_avx512)
    const __m512i four = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512 all = _mm512_castps256_ps512((__m256)v);
    _mm512_storeu_ps(out, _mm512_permutexvar_ps(four, all));
    _mm512_storeu_ps(out + 16, _mm512_permutexvar_ps(_mm512_add_epi32(four, _mm512_set1_epi32(4)), all));
#elif defined(SIMD_ISA_avx2)
    const __m256i four = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      _mm256_storeu_ps(out + 8 * i,
                       _mm256_permutevar8x32_ps((__m256)v, _mm256_add_epi32(four, _mm256_set1_epi32(2 * i))));
#else
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) store(out + 4 * i, v[i] - F4{});
#endif
  }
};

template <MmaCode kCode, class Put>
void rows_of(const uint8_t* tile, float* out) {
  if constexpr (kCode == MmaCode::kTF32) {
    for (int x = 0; x < 4; ++x) {
      F8 v;
      for (int i = 0; i < 8; ++i)
        v[i] = bits_as<float>(load<uint32_t>(tile + 16 * Put::kOrder[i] + 4 * x) & 0xffffe000u);
      Put::put(out, x, v);
    }
    return;
  }
  constexpr int kGroups = groups_of(kCode);
  for (int g = 0; g < kGroups; ++g) {
    U8 r[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) r[i] = fetch(kCode, tile + 16 * Put::kOrder[i] + 16 / kGroups * g);
    transpose(r);
#pragma GCC unroll 8
    for (int x = 0; x < 8; ++x) Put::put(out, 8 * g + x, widen(kCode, r[x]));
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
void columns_of<MmaCode::kTF32>(const uint8_t* tile, float* out, int64_t stride) {
  typedef uint32_t W __attribute__((vector_size(16)));
  for (int i = 0; i < 8; ++i) store(out + i * stride, load<W>(tile + 16 * i) & 0xffffe000u);
}

NUM_INLINE void store_exponents(int16_t* p, I e) { store(p, narrow(e)); }
NUM_INLINE void store_exponents(int32_t* p, I e) { store(p, e << 16 | (e & 0xffff)); }

template <bool kRange, class T>
NUM_INLINE MmaRange exponents_of(const float* value, T* exponent, int64_t n, int lowest) {
  const I floor = splat_int(lowest);
  I high = splat_int(kNoExponent), low = splat_int(128), special = {};
  for (int64_t i = 0; i < n; i += kLanes) {
    I v = load<I>(value + i) & 0x7fffffff;
    I e = (v >> 23) - 127;
    e = e > floor ? e : floor;
    special |= e > 127;
    e = v != 0 ? e : splat_int(kNoExponent);
    store_exponents(exponent + i, e);
    if constexpr (kRange) {
      high = e > high ? e : high;
      I other = v != 0 ? e : splat_int(128);
      low = other < low ? other : low;
    }
  }
  if constexpr (!kRange) return {any_lane(special) ? 128 : 0, 0};
  MmaRange r{kNoExponent, 128};
#if defined(SIMD_ISA_avx512)
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

#if defined(SIMD_ISA_avx512)
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
#else
// Registers hold rows of four lanes: a 4 by 4 transposition makes columns of them.
NUM_INLINE void transpose4(F4& a, F4& b, F4& c, F4& d) {
  F4 t0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), t1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  F4 t2 = __builtin_shufflevector(c, d, 0, 4, 1, 5), t3 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(t0, t2, 0, 1, 4, 5);
  b = __builtin_shufflevector(t0, t2, 2, 3, 6, 7);
  c = __builtin_shufflevector(t1, t3, 0, 1, 4, 5);
  d = __builtin_shufflevector(t1, t3, 2, 3, 6, 7);
}
#endif

#define NUM_MMA_CODES(X) \
  X(kF16)                \
  X(kBF16) X(kTF32) X(kE4M3) X(kE5M2) X(kE3M2) X(kE2M3) X(kE2M1Byte) X(kE2M1) X(kS8) X(kU8) X(kS4) X(kU4)

template <class Put>
void put_rows(MmaCode code, const void* tile, float* out) {
  auto* bytes = static_cast<const uint8_t*>(tile);
  switch (code) {
#define X(name)       \
  case MmaCode::name: \
    return rows_of<MmaCode::name, Put>(bytes, out);
    NUM_MMA_CODES(X)
#undef X
  }
}

void rows(MmaCode code, const void* tile, float* out) { put_rows<Rows>(code, tile, out); }
void spread_rows(MmaCode code, const void* tile, float* out) { put_rows<SpreadRows>(code, tile, out); }
void sorted_rows(MmaCode code, const void* tile, float* out) { put_rows<SortedRows>(code, tile, out); }

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

template <class T>
MmaRange exponents(const float* value, T* exponent, int64_t n, int lowest) {
  return lowest == -126 ? exponents_of<true>(value, exponent, n, lowest)
                        : exponents_of<false>(value, exponent, n, lowest);
}

MmaSums look_at_sums(const float* value, int64_t n) {
  // Magnitudes less 1, without sign: 0 becomes the largest one of all.
  typedef uint32_t U __attribute__((vector_size(kLanes * 4)));
  constexpr uint32_t kLeast = uint32_t{127 - 100} << 23, kMost = uint32_t{127 + 120} << 23;
  U low = U{} + kLeast, high = {};
  for (int64_t i = 0; i < n; i += kLanes) {
    U x = load<U>(value + i) & INT32_MAX, y = x - 1;
    high = x > high ? x : high;
    low = y < low ? y : low;
  }
  if (!any_lane((I)(low < kLeast - 1) | (I)(high >= kMost))) return MmaSums::kOrdinary;
  I special = {};
  for (int64_t i = 0; i < n; i += kLanes) special |= (load<I>(value + i) & 0x7f800000) == 0x7f800000;
  return any_lane(special) ? MmaSums::kSpecial : MmaSums::kFinite;
}

#if defined(SIMD_ISA_avx512)
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

const MmaOperands mma_operands = {rows,         spread_rows,        sorted_rows,
                                  columns,      exponents<int16_t>, exponents<int32_t>,
                                  look_at_sums, load_f32,           store_f32};

}  // namespace triton_runner::num::SIMD_ISA
