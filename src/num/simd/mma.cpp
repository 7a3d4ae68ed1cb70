// Sums products as tensor cores do: the largest exponent of a block is found first, then a multiplication
// scales the accumulator and each product so that its integer part is what the hardware keeps, and integers
// add up.
#include "simd/mma_lanes.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

typedef uint32_t U __attribute__((vector_size(kLanes * 4)));

constexpr int kAnyChunk = 1 << 20;

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
    // The last bit remembers what was cut off, so that rounding once more is rounding once.
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

// Toward zero; what an int64 cannot hold, NaN too, becomes the least one, as the instruction does it.
NUM_INLINE uint64_t truncate(double v) {
  return v > -0x1p63 && v < 0x1p63 ? static_cast<uint64_t>(static_cast<int64_t>(v)) : uint64_t{1} << 63;
}

// One block, some columns, in f64: exponents of any size.
[[gnu::noinline]] void wide(const MmaStep& s, int first_column, int end_column) {
  for (int j = first_column; j < end_column; ++j) {
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
        int32_t e = s.a_exponent[x * kRows + l] + static_cast<int16_t>(b_exponent[x]);
        largest[l] = e > largest[l] ? e : largest[l];
      }
    double quantum[kRows], factor[kRows];
    uint64_t total[kRows];  // two's complement: what overflows is replaced by the caller
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

void exact_wide(const MmaStep& s) { wide(s, 0, s.columns); }

// A sum that overflows an int32 is found out and computed again.
NUM_INLINE I wrapping_sum(I a, I b) { return (I)((U)a + (U)b); }

// How sums are rounded while one of these lives. AVX2 has no conversion of integers that rounds toward zero, but a mode
// in which all do; the rest of what exact_block computes is exact, whatever the mode.
struct Nearest {
  void call_nearest(auto&& body) const { body(); }
};
#if defined(SIMD_ISA_avx2)
class TowardZero {
 public:
  TowardZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | _MM_ROUND_TOWARD_ZERO); }
  ~TowardZero() { _mm_setcsr(before_); }
  TowardZero(const TowardZero&) = delete;
  TowardZero& operator=(const TowardZero&) = delete;
  void call_nearest(auto&& body) const {
    _mm_setcsr(before_);
    body();
    _mm_setcsr(before_ | _MM_ROUND_TOWARD_ZERO);
  }

 private:
  unsigned before_;
};
#else
using TowardZero = Nearest;
#endif

// Toward zero, whatever the mode of rounding. From the nearest float, whose integer differs by the sign of what was
// rounded.
NUM_INLINE F truncated(I x) {
#if defined(SIMD_ISA_avx512)
  return (F)_mm512_cvt_roundepi32_ps((__m512i)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
#else
  F f = __builtin_convertvector(x, F);
  f = f < 0x1p31f ? f : splat(0x1.fffffep30f);  // machines differ in what else they convert it to
  I rest = x - truncate(f), away = x < 0 ? -rest : rest;
  return (F)((I)f + (away >> 31));
#endif
}

// The sum of a block: total * unit, cut to the bits that stay.
template <bool kF16>
NUM_INLINE F finish(I total, F unit, I kept) {
#if defined(SIMD_ISA_avx2)
  if constexpr (!kF16) return (F)((I)(__builtin_convertvector(total, F) * unit) & kept);  // see TowardZero
#endif
  F f = truncated(total);
  // The last bit remembers what was cut off, so that rounding once more is rounding once.
  if constexpr (kF16) f = (F)((I)f | ((truncate(f) != total) & 1));
  f *= unit;
  if constexpr (!kF16) return (F)((I)f & kept);
  I bits = (I)f, sign = bits & INT32_MIN, x = bits & INT32_MAX;
  I normal = (x + 0xfff + ((x >> 13) & 1)) & ~0x1fff;
  normal = normal >= 0x47800000 ? splat_int(0x7f800000) : normal;
  I small = (I)(((F)x + 0.75f) - 0.75f);  // multiples of 2^-24
  x = x < 0x38800000 ? small : normal;
  return (F)((sign | x) & (x != 0));  // no -0
}

// Terms that an int32 sum holds: the accumulator and this many products of less than 2^(fraction + 2).
NUM_INLINE int chunk_of(int fraction) { return fraction >= 25 ? 8 : fraction == 24 ? 16 : kAnyChunk; }

constexpr int kParts = kRows / kLanes;
constexpr int kColumns = kParts == 1 ? 4 : 1;  // at a time: no more than registers hold

// The place where a block of a step begins. In registers: who copies a step that was just written waits until
// all of it has left for the cache.
struct Block {
  const float *a, *b;
  const int16_t* a_exponent;
  const int32_t* b_exponent;
  int k;
};

typedef F Scales[kColumns][kParts];

// Finds what the accumulators and products of kColumns columns are multiplied by, so that the integer part is
// what is kept: by the largest exponent of each row, at least what ordinary sums need.
template <bool kF16, int kK>
NUM_INLINE void find_scales(const MmaStep& s, const Block& at, int j, Scales& scale) {
  typedef int16_t Rows __attribute__((vector_size(kRows * 2)));
  typedef int32_t Pairs __attribute__((vector_size(kRows * 2)));
  const int k = kK ? kK : at.k;
  const int32_t* b = at.b_exponent + j * s.b_stride;
  Rows top[kColumns];
#pragma GCC unroll 4
  for (int q = 0; q < kColumns; ++q) top[q] = Rows{} + static_cast<int16_t>(kMmaLowest - 25);
  for (int x = 0; x < k; ++x) {
    Rows a = load<Rows>(at.a_exponent + x * kRows);
#pragma GCC unroll 4
    for (int q = 0; q < kColumns; ++q) {
      Rows e = a + (Rows)(b[q * s.b_stride + x] - Pairs{});
      top[q] = e > top[q] ? e : top[q];
    }
  }
#pragma GCC unroll 4
  for (int q = 0; q < kColumns; ++q) {
    Rows biased = top[q] + 127;
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) {
      Short part;
      memcpy(&part, reinterpret_cast<const char*>(&biased) + p * sizeof part, sizeof part);
      I c = load<I>(s.sums + (j + q) * kRows + p * kLanes);
      I exponent = c & 0x7f800000;
      if constexpr (kF16)
        exponent = (exponent > 113 << 23 ? exponent : splat_int(113 << 23)) & ((c & INT32_MAX) != 0);
      I e = widen(part) << 23;
      e = e > exponent ? e : exponent;
      scale[q][p] = (F)((static_cast<uint32_t>(254 + s.fraction) << 23) - (U)e);
    }
  }
}

// The block's columns from j on, in f64.
[[gnu::noinline]] void wide_block(MmaStep s, const Block& at, int j) {
  s.a = at.a, s.b = at.b, s.a_exponent = at.a_exponent, s.b_exponent = at.b_exponent, s.k = at.k;
  wide(s, j, j + kColumns);
}

// One block of 16 rows and kColumns columns. kK: its products, kChunk: as above; or both are 0, and any.
template <bool kF16, int kK, int kChunk>
NUM_INLINE void exact_block(const MmaStep& s, const Block& at, int j, const Scales& scale, I kept,
                            const auto& mode) {
  const int k = kK ? kK : at.k, chunk = kChunk ? kChunk : chunk_of(s.fraction);
  const float* b = at.b + j * s.b_stride;
  float* sums = s.sums + j * kRows;
  I sum[kColumns][kParts];
  each<kColumns, kParts>(
      [&](int q, int p) { sum[q][p] = truncate(load<F>(sums + q * kRows + p * kLanes) * scale[q][p]); });
  auto add = [&](int x) {
    F a[kParts];
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) a[p] = load<F>(at.a + x * kRows + p * kLanes);
#pragma GCC unroll 4
    for (int q = 0; q < kColumns; ++q) {
      F y = splat(b[q * s.b_stride + x]);
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) sum[q][p] += truncate(a[p] * y * scale[q][p]);
    }
  };
  int x = 0;
  for (const int end = k < chunk ? k : chunk; x < end; ++x) add(x);
  I overflow = {};
  while (x < k) {
    I before[kColumns][kParts];
    each<kColumns, kParts>([&](int q, int p) { before[q][p] = sum[q][p], sum[q][p] = I{}; });
    for (const int end = x + chunk < k ? x + chunk : k; x < end; ++x) add(x);
    each<kColumns, kParts>([&](int q, int p) {
      I total = wrapping_sum(before[q][p], sum[q][p]);
      overflow |= (before[q][p] ^ total) & (sum[q][p] ^ total);
      sum[q][p] = total;
    });
  }
  if (kK != kChunk || kK == 0)
    if (any_lane(overflow < 0)) [[unlikely]]
      return mode.call_nearest([&] { wide_block(s, at, j); });
  each<kColumns, kParts>([&](int q, int p) {
    store(sums + q * kRows + p * kLanes, finish<kF16>(sum[q][p], (F)((254 << 23) - (I)scale[q][p]), kept));
  });
}

// The scales of some columns before their products: a core looks some hundred operations ahead, and sees more columns
// so, none of which waits for another one.
template <bool kF16, int kK, int kChunk>
[[gnu::noinline]] void exact_columns(const MmaStep& s, const auto& mode) {
  constexpr int kGroup = 8;  // a step's columns are a multiple of it
  const I kept = splat_int(~((1 << (23 - s.result)) - 1));
  const int columns = s.columns;
  Block at{s.a, s.b, s.a_exponent, s.b_exponent, 0};
  for (int left = s.k; left > 0; left -= s.block) {
    at.k = left < s.block ? left : s.block;
    for (int j = 0; j < columns; j += kGroup) {
      Scales scales[kGroup / kColumns];
#pragma GCC unroll 1
      for (int q = 0; q < kGroup; q += kColumns) find_scales<kF16, kK>(s, at, j + q, scales[q / kColumns]);
#pragma GCC unroll 1
      for (int q = 0; q < kGroup; q += kColumns)
        exact_block<kF16, kK, kChunk>(s, at, j + q, scales[q / kColumns], kept, mode);
    }
    at.a += kRows * at.k;
    at.a_exponent += kRows * at.k;
    at.b += at.k;
    at.b_exponent += at.k;
  }
}

// The blocks that tensor cores have most often are compiled apart. The mode of rounding changes once for all
// steps: that takes as long as a tenth of one.
template <bool kF16, int kK, int kChunk>
void exact_steps(const MmaStep* steps, int count, const auto& mode) {
  for (int i = 0; i < count; ++i) exact_columns<kF16, kK, kChunk>(steps[i], mode);
}
void exact(const MmaStep* steps, int count) {
  const MmaStep& s = steps[0];
  if (s.f16) return exact_steps<true, 0, 0>(steps, count, Nearest{});
  const bool whole = s.k % s.block == 0;
  const TowardZero mode{};
  if (whole && s.block == 8 && chunk_of(s.fraction) >= 8) return exact_steps<false, 8, 8>(steps, count, mode);
  if (whole && s.block == 16 && s.fraction == 25) return exact_steps<false, 16, 8>(steps, count, mode);
  exact_steps<false, 0, 0>(steps, count, mode);
}

NUM_INLINE F fused(F a, F y, F sum) {
#if defined(SIMD_ISA_avx512)
  return (F)_mm512_fmadd_ps((__m512)a, (__m512)y, (__m512)sum);
#elif defined(SIMD_ISA_avx2)
  return (F)_mm256_fmadd_ps((__m256)a, (__m256)y, (__m256)sum);
#else
  return sum + a * y;  // products of tensor-core operands are exact in f32, short of its range
#endif
}

// The tensor cores' only NaN: which one a chain gives depends on how it is compiled.
NUM_INLINE F one_nan(F x) {
  const I nan = (I)(x != x);
  return (F)(((I)x & ~nan) | (nan & INT32_MAX));
}

void fma(const MmaStep& s) {
  constexpr int kWide = 8 / kParts, kSums = kWide * kParts;  // enough to hide the latency of one
  for (int j = 0; j < s.columns; j += kWide) {
    const float* b = s.b + j * s.b_stride;
    float* sums = s.sums + j * kRows;
    F sum[kSums];  // all parts of a column side by side, as in memory
#pragma GCC unroll 8
    for (int i = 0; i < kSums; ++i) sum[i] = load<F>(sums + i * kLanes);
    for (int x = 0; x < s.k; ++x) {
      F a[kParts];
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) a[p] = load<F>(s.a + x * kRows + p * kLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kSums; ++i)
        sum[i] = fused(a[i % kParts], splat(b[i / kParts * s.b_stride + x]), sum[i]);
    }
    F all = {};  // no number where a sum is none
#pragma GCC unroll 8
    for (int i = 0; i < kSums; ++i) all += sum[i];
    if (any_lane((I)(all != all))) [[unlikely]]
      for (F& x : sum) x = one_nan(x);
#pragma GCC unroll 8
    for (int i = 0; i < kSums; ++i) store(sums + i * kLanes, sum[i]);
    if (s.f16)
      for (int i = 0; i < kWide * kRows; ++i)
        sums[i] = __builtin_isnan(sums[i]) ? sums[i] : round_sum(static_cast<double>(sums[i]), 23, true);
  }
}

// Four floats, again and again.
NUM_INLINE F repeat4(const float* p) {
#if defined(SIMD_ISA_avx512)
  return (F)_mm512_broadcast_f32x4(_mm_loadu_ps(p));
#elif defined(SIMD_ISA_avx2)
  return (F)_mm256_broadcast_ps(reinterpret_cast<const __m128*>(p));
#else
  F f;
  for (int i = 0; i < kLanes; ++i) f[i] = p[i % 4];
  return f;
#endif
}

// kWide columns of eight, and kHalves halves of the rows, of sums: a register has one half's even or odd columns.
template <int kWide, int kHalves>
NUM_INLINE void fma_registers_of(const float* a, const float* b, int k, const uint32_t* const (*c)[4],
                                 uint32_t* const (*d)[4], int half) {
  constexpr int kVectors = 32 / kLanes;  // of a register
  F sum[kWide][kHalves][2][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kWide * kHalves * 2 * kVectors; ++i) {
    const int w = i / (kHalves * 2 * kVectors), h = i / (2 * kVectors) % kHalves, odd = i / kVectors % 2,
              v = i % kVectors;
    sum[w][h][odd][v] = load<F>(c[w][2 * (half + h) + odd] + v * kLanes);
  }
  for (int x = 0; x < k; ++x) {
    F y[kWide][2];
#pragma GCC unroll 4
    for (int i = 0; i < 2 * kWide; ++i) y[i / 2][i % 2] = repeat4(b + 8 * (i / 2 * k + x) + 4 * (i % 2));
#pragma GCC unroll 16
    for (int i = 0; i < kHalves * kVectors; ++i) {
      F left = load<F>(a + x * kMmaSpread + 32 * half + i * kLanes);
#if defined(SIMD_ISA_avx2)
      asm("" : "+x"(left));  // in a register: twice from memory takes longer than the products
#endif
#pragma GCC unroll 4
      for (int j = 0; j < 2 * kWide; ++j) {
        F& s = sum[j / 2][i / kVectors][j % 2][i % kVectors];
        s = fused(left, y[j / 2][j % 2], s);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kWide * kHalves * 2 * kVectors; ++i) {
    const int w = i / (kHalves * 2 * kVectors), h = i / (2 * kVectors) % kHalves, odd = i / kVectors % 2,
              v = i % kVectors;
    store(d[w][2 * (half + h) + odd] + v * kLanes, one_nan(sum[w][h][odd][v]));
  }
}

void fma_registers(const float* a, const float* b, int k, int columns, const uint32_t* const (*c)[4],
                   uint32_t* const (*d)[4]) {
  int j = 0;
#if defined(SIMD_ISA_avx512)
  for (; j + 2 <= columns; j += 2) fma_registers_of<2, 2>(a, b + 8 * k * j, k, c + j, d + j, 0);
#endif
  for (; j < columns; ++j)
    for (int half = 0; half < 2; ++half) fma_registers_of<1, 1>(a, b + 8 * k * j, k, c + j, d + j, half);
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

const MmaTable mma_table = {exact, exact_wide, fma, fma_registers, integer};

}  // namespace triton_runner::num::SIMD_ISA
