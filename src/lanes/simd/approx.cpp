// Computes the .approx functions of f32 as an H100's special function unit does, bit for bit: PTX ISA 9.7.3.
//
// The unit takes the upper bits of a fixed-point argument as the index of a table and the lower bits x as the
// point between two entries: c0 + c1 x + c2 square(x), where the squarer drops what is below its 16 result
// bits one partial product at a time (the form of Oberman and Siu, ARITH 2005). The tables and shifts are
// those that give every measured result: tests/gpu/approx.py measures, approx_fit.py fits approx_tables.inc.
// What the instructions do around the unit (.ftz or scaled subnormals) is as ptxas writes it.
#include <triton_runner/lanes/approximations.h>

#include "simd/floats.h"

namespace triton_runner::lanes::SIMD_ISA {
namespace {

using Entry = ApproxEntry;
#include "simd/approx_tables.inc"

template <int kCount>
struct Table {
  static constexpr int kSize = kCount;
  alignas(64) int32_t c0[kCount], c12[kCount];
  constexpr Table(const Entry (&entries)[kCount]) : c0{}, c12{} {
    for (int i = 0; i < kCount; ++i) c0[i] = entries[i].c0, c12[i] = entries[i].c12;
  }
};
constexpr Table<128> kRcp(kRcpTable), kSqrt(kSqrtTable), kRsqrt(kRsqrtTable);
constexpr Table<64> kEx2(kEx2Table), kLg2(kLg2Table), kSin(kSinTable);

LANES_INLINE int32_t bits_of(float x) { return bits_as<int32_t>(x); }
LANES_INLINE float float_of(int32_t bits) { return bits_as<float>(bits); }
constexpr int32_t kOne = 1 << 23;  // of a significand, and of an exponent
constexpr int32_t kInfinity = 0x7f800000;
constexpr int32_t kFraction = kOne - 1;

constexpr int kBlock = 32;  // lanes that are worked on at a time

// The upper bits of x * x for x below 2^17: the sum, over its bits i, of x >> (18 - i), halved. The lowest
// bit takes no part: `half` is x >> 1. Nothing is cut off from the products of the upper 8 bits with each
// other, all is from those of the lower ones with each other, and those of upper with lower ones come twice.
#if defined(SIMD_ISA_avx512)
LANES_INLINE void square(uint16_t* out, const int32_t* half) {
  __m512i low = _mm512_load_si512(half), high = _mm512_load_si512(half + 16);
  __m512i w =
      _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(low)), _mm512_cvtepi32_epi16(high), 1);
  const __m512i lower = _mm512_and_si512(w, _mm512_set1_epi16(255)), upper = _mm512_srli_epi16(w, 8);
  __m512i sum = _mm512_srli_epi16(_mm512_mullo_epi16(upper, upper), 1);
#pragma GCC unroll 8
  for (unsigned i = 1; i < 8; ++i)
    sum = _mm512_mask_add_epi16(sum, _mm512_test_epi16_mask(w, _mm512_set1_epi16(int16_t(256 << i))), sum,
                                _mm512_srli_epi16(lower, 8 - i));
  _mm512_store_si512(out, sum);
}
#else
LANES_INLINE void square(uint16_t* out, const int32_t* half) {
  for (int k = 0; k < kBlock; ++k) {
    int32_t w = half[k], lower = w & 255, sum = ((w >> 8) * (w >> 8)) >> 1;
#pragma GCC unroll 8
    for (int i = 1; i < 8; ++i) sum += w & (256 << i) ? lower >> (8 - i) : 0;
    out[k] = uint16_t(sum);
  }
}
#endif

// (c0 2^(kShift - 2) + c1 x + c2 2^kScale s + kBias) >> kShift in 32 bits; c1 x below 2^33.
template <int kShift, int kScale, int32_t kBias>
LANES_INLINE int32_t interpolate(int32_t c0, int32_t c1, int32_t c2, int32_t x, int32_t s) {
  int32_t low = ((c0 & 3) << (kShift - 2)) + kBias + c2 * (s << kScale) + c1 * (x & 7);
  return (c0 >> 2) + ((c1 * (x >> 3) + (low >> 3)) >> (kShift - 3));
}
LANES_INLINE int32_t c1_of(int32_t c12) { return c12 >> 12; }
LANES_INLINE int32_t c2_of(int32_t c12) { return int32_t(uint32_t(c12) << 20) >> 20; }

// A function in two halves: prepare() gives the point, its lower kShift bits, below the number of the table's
// entry, and finish() gets both coefficients of that and the square of the point (times 2, if kDoubled).
template <const auto& table, int shift, int doubled = 0>
struct Entries {
  static constexpr const auto& kTable = table;
  static constexpr int kShift = shift, kDoubled = doubled;
};
// The unit's functions: they take subnormals as zeros and give zeros for them.
struct Rcp : Entries<kRcp, 16, 1> {
  LANES_INLINE static int32_t prepare(float a) { return bits_of(a) & 0x7fffffff; }
  LANES_INLINE static float finish(float a, int32_t size, int32_t c0, int32_t c, int32_t s) {
    int32_t x = size & 0xffff;
    int32_t r = interpolate<15, 0, 0x47e7>(c0, c1_of(c), c2_of(c), x, s);
    r += (252 - (size >> 23)) * kOne;
    r = r < kOne ? 0 : r;
    r = size < kOne ? kInfinity : r;
    r |= bits_of(a) & int32_t(0x80000000);
    return a == a ? float_of(r) : nan_f32();
  }
};

// The significand of [1, 4) with an even exponent below it.
LANES_INLINE int32_t root_fraction(float a) {
  int32_t bits = bits_of(a);
  return (bits & kFraction) | (~bits & kOne);
}
LANES_INLINE int32_t root_exponent(int32_t size) { return ((size >> 23) - 127) >> 1; }
struct Rsqrt : Entries<kRsqrt, 17> {
  LANES_INLINE static int32_t prepare(float a) { return root_fraction(a); }
  LANES_INLINE static float finish(float a, int32_t fraction, int32_t c0, int32_t c, int32_t s) {
    int32_t bits = bits_of(a), size = bits & 0x7fffffff, x = fraction & 0x1ffff;
    int32_t r = interpolate<16, 2, 0x7fff>(c0, c1_of(c), c2_of(c), x, s);
    r = fraction == 0 ? 2 * kOne : r;
    r += (125 - root_exponent(size)) * kOne;
    r = size == kInfinity ? 0 : r;
    r = bits < 0 ? 0x7fffffff : r;
    r = size < kOne ? kInfinity | (bits & int32_t(0x80000000)) : r;
    return a == a ? float_of(r) : nan_f32();
  }
};
struct Sqrt : Entries<kSqrt, 17> {
  LANES_INLINE static int32_t prepare(float a) { return root_fraction(a); }
  LANES_INLINE static float finish(float a, int32_t fraction, int32_t c0, int32_t c, int32_t s) {
    int32_t bits = bits_of(a), size = bits & 0x7fffffff, x = fraction & 0x1ffff;
    int32_t twice = fraction >> 23;  // from 2 on, c1 and c2 are of half the scale
    int32_t r = interpolate<17, 0, 0xffff>(c0, c1_of(c) << twice, c2_of(c) << twice, x, s);
    r += (126 + root_exponent(size)) * kOne;
    r = size == kInfinity ? kInfinity : r;
    r = bits < 0 ? 0x7fffffff : r;
    r = size < kOne ? bits & int32_t(0x80000000) : r;
    return a == a ? float_of(r) : nan_f32();
  }
};
struct Ex2 : Entries<kEx2, 17> {
  LANES_INLINE static int32_t prepare(float a) {
    float size = __builtin_fabsf(a);
    size = size < 128.0f ? size : 128.0f;
    int32_t fixed = int32_t(size * 0x1p23f);
    int32_t whole = ((fixed & kFraction) - 1) >> 31, sign = bits_of(a) >> 31;
    return (fixed ^ sign) - (whole & sign);  // a negative whole number is negated, others complemented
  }
  LANES_INLINE static float finish(float a, int32_t fixed, int32_t c0, int32_t c, int32_t s) {
    int32_t x = fixed & 0x1ffff;
    int32_t r = interpolate<15, 0, 0x77e2>(c0, c1_of(c), c2_of(c), x, s);
    r += ((fixed >> 23) + 126) * kOne;
    r = r < kOne ? 0 : r;
    return a == a ? float_of(r) : nan_f32();
  }
};

// value with its bits below the 24 upper ones cut off.
LANES_INLINE float cut(double value) {
  return float(bits_as<double>(bits_as<uint64_t>(value) & ~((uint64_t(1) << 29) - 1)));
}

struct Lg2 : Entries<kLg2, 17> {
  LANES_INLINE static int32_t prepare(float a) { return bits_of(a); }
  LANES_INLINE static float finish(float a, int32_t bits, int32_t c0, int32_t c, int32_t s) {
    int32_t size = bits & 0x7fffffff, x = bits & 0x1ffff;
    double sum = double(c0) * 4096 + double(c1_of(c)) * double(x) + double(c2_of(c) * (s * 2) + 0x3345);
    sum = bits == 0x3f800000 ? 0 : __builtin_floor(sum * 0.25);  // of 36 bits
    sum += double((size >> 23) - 127) * 0x1p36;
    sum = sum < 0 ? sum + 1 : sum;  // the complement of a negative one
    float r = cut(sum * 0x1p-36);
    r = size == kInfinity ? float_of(kInfinity) : r;
    r = bits < 0 ? nan_f32() : r;
    r = size < kOne ? float_of(int32_t(0xff800000)) : r;
    return a == a ? r : nan_f32();
  }
};

// kQuadrant: 0 for the sine, 1 for the cosine. The argument is multiplied by 1/(2 pi), rounded to zero, if it is not in
// turns.
template <int kQuadrant, bool kTurns = false>
struct Circular : Entries<kSin, 17> {
  LANES_INLINE static int32_t prepare(float a) {
    int32_t size = bits_of(a) & 0x7fffffff;
    size &= (size - kInfinity) >> 31;  // 0 for what is not finite; a select here keeps loops from vectorising
    double turns = double(float_of(size));
    if constexpr (!kTurns) turns = double(cut(turns * double(0.15915494f)));
    double units = __builtin_floor(turns * 0x1p25);
    units -= __builtin_floor(units * 0x1p-25) * 0x1p25;
    int32_t fixed = int32_t(units) + kQuadrant * kOne;
    return fixed ^ ((fixed >> 23) & 1 ? kFraction : 0);  // backwards in every other quarter
  }
  LANES_INLINE static float finish(float a, int32_t fixed, int32_t c0, int32_t c, int32_t s) {
    int32_t sign = int32_t(uint32_t(fixed >> 24) << 31);
    if constexpr (kQuadrant == 0) sign ^= bits_of(a) & int32_t(0x80000000);
    int32_t x = fixed & 0x1ffff;
    double sum = double(c0) * 2048 + double(c1_of(c)) * double(x) + double(c2_of(c) * s);
    int32_t r = bits_of(cut(sum * 0x1p-37)) ^ sign;
    return a - a == 0 ? float_of(r) : nan_f32();
  }
};

// The instructions: scale() is what the unit gets, after() makes the result of what it gives.
template <class Unit, class Around>
struct Instruction : Unit {
  LANES_INLINE static int32_t prepare(float a) { return Unit::prepare(Around::scale(a)); }
  LANES_INLINE static float finish(float a, int32_t prepared, int32_t c0, int32_t c12, int32_t s) {
    return Around::after(a, Unit::finish(Around::scale(a), prepared, c0, c12, s));
  }
};
// 1 / b as a division has it, of an operand that is scaled first.
template <class Around>
struct Reciprocal : Rcp {
  LANES_INLINE static int32_t prepare(float b) { return Rcp::prepare(b * Around::factor(b)); }
  LANES_INLINE static float finish(float b, int32_t prepared, int32_t c0, int32_t c12, int32_t s) {
    return Rcp::finish(b * Around::factor(b), prepared, c0, c12, s);
  }
};
// a / b, of the reciprocal r; and a / b + c, of which only the sum is rounded: what ptxas makes of a division that is only
// added to something.
template <class Around>
struct Division : Reciprocal<Around> {
  using OfDivisor = Reciprocal<Around>;
  // `divisor` is b of all lanes, where they share it.
  LANES_INLINE static float of(float r, float divisor, float a, float) {
    return Around::product(a, Around::factor(divisor), r);
  }
  LANES_INLINE static float of(float r, float divisor, float a, float, float c) {
    return Around::sum(a, Around::factor(divisor), r, c);
  }
  template <class... C>
  LANES_INLINE static int32_t prepare(float, float b, C...) {
    return OfDivisor::prepare(b);
  }
  LANES_INLINE static float finish(float a, float b, int32_t prepared, int32_t c0, int32_t c12, int32_t s) {
    return of(OfDivisor::finish(b, prepared, c0, c12, s), b, a, b);
  }
  LANES_INLINE static float finish(float a, float b, float c, int32_t prepared, int32_t c0, int32_t c12,
                                   int32_t s) {
    return of(OfDivisor::finish(b, prepared, c0, c12, s), b, a, b, c);
  }
};

LANES_INLINE bool is_low(float a) { return __builtin_fabsf(a) < 0x1p-126f; }
struct around_root {
  LANES_INLINE static float scale(float a) { return is_low(a) ? a * 0x1p24f : a; }
};
struct around_sqrt : around_root {
  LANES_INLINE static float after(float a, float r) { return is_low(a) ? r * 0x1p-12f : r; }
};
struct around_rsqrt : around_root {
  LANES_INLINE static float after(float a, float r) { return is_low(a) ? r * 0x1p12f : r; }
};
struct around_ex2 {
  LANES_INLINE static float scale(float a) { return a < -126.0f ? a * 0.5f : a; }
  LANES_INLINE static float after(float a, float r) { return a < -126.0f ? r * r : r; }
};
struct around_lg2 {
  LANES_INLINE static float scale(float a) { return is_low(a) ? a * 0x1p23f : a; }
  LANES_INLINE static float after(float a, float r) { return canonical(is_low(a) ? r - 23.0f : r); }
};
// Returns what a number is multiplied with so that neither it nor its reciprocal is a subnormal.
LANES_INLINE float factor_of(float b) {
  float size = __builtin_fabsf(b);
  float factor = size < 0x1p-126f ? 0x1p24f : 1.0f;
  return size > 0x1p126f ? 0x1p-2f : factor;
}
struct around_rcp {
  LANES_INLINE static float scale(float a) { return a * factor_of(a); }
  LANES_INLINE static float after(float a, float r) { return canonical(r * factor_of(a)); }
};
// For a division: what both of its operands are multiplied with first, and what comes of the numerator and
// the reciprocal.
struct plain_division {
  LANES_INLINE static float product(float a, float factor, float r) { return canonical(a * factor * r); }
  LANES_INLINE static float sum(float a, float factor, float r, float c) {
    return canonical(fma_of(a * factor, r, c));
  }
};
struct ftz_division {
  LANES_INLINE static float numerator(float a, float factor) { return flushed(flushed(a) * factor); }
  LANES_INLINE static float product(float a, float factor, float r) {
    return canonical(flushed(numerator(a, factor) * r));
  }
  LANES_INLINE static float sum(float a, float factor, float r, float c) {
    return canonical(flushed(fma_of(numerator(a, factor), r, flushed(c))));
  }
};
struct div_approx : plain_division {
  LANES_INLINE static float factor(float b) {
    return is_low(b) ? 0x1p24f : 1.0f;
  }  // large: a reciprocal of 0
};
struct div_approx_ftz : ftz_division {
  LANES_INLINE static float factor(float) { return 1.0f; }
};
struct div_full : plain_division {
  LANES_INLINE static float factor(float b) { return factor_of(b); }
};
struct div_full_ftz : ftz_division {
  LANES_INLINE static float factor(float b) { return __builtin_fabsf(b) > 0x1p126f ? 0x1p-2f : 1.0f; }
};

// The entries of a block: from tables that fit into AVX-512's registers, or gathered.
#if defined(SIMD_ISA_avx512)
template <int kSize>
LANES_INLINE __m512i entry(const int32_t (&table)[kSize], __m512i index) {
  __m512i low = _mm512_permutex2var_epi32(_mm512_load_si512(table), index, _mm512_load_si512(table + 16));
  __m512i high =
      _mm512_permutex2var_epi32(_mm512_load_si512(table + 32), index, _mm512_load_si512(table + 48));
  __m512i found = _mm512_mask_blend_epi32(_mm512_test_epi32_mask(index, _mm512_set1_epi32(32)), low, high);
  if constexpr (kSize == 128) {
    low = _mm512_permutex2var_epi32(_mm512_load_si512(table + 64), index, _mm512_load_si512(table + 80));
    high = _mm512_permutex2var_epi32(_mm512_load_si512(table + 96), index, _mm512_load_si512(table + 112));
    low = _mm512_mask_blend_epi32(_mm512_test_epi32_mask(index, _mm512_set1_epi32(32)), low, high);
    found = _mm512_mask_blend_epi32(_mm512_test_epi32_mask(index, _mm512_set1_epi32(64)), found, low);
  }
  return found;
}
template <class F>
LANES_INLINE void entries(const int32_t* prepared, int32_t* c0, int32_t* c12) {
  for (int i = 0; i < kBlock; i += 16) {
    __m512i index = _mm512_srli_epi32(_mm512_load_si512(prepared + i), F::kShift);
    _mm512_store_si512(c0 + i, entry(F::kTable.c0, index));
    _mm512_store_si512(c12 + i, entry(F::kTable.c12, index));
  }
}
#else
template <class F>
LANES_INLINE void entries(const int32_t* prepared, int32_t* c0, int32_t* c12) {
  for (int i = 0; i < kBlock; ++i) {
    int32_t index = (prepared[i] >> F::kShift) & (F::kTable.kSize - 1);
    c0[i] = F::kTable.c0[index];
    c12[i] = F::kTable.c12[index];
  }
}
#endif

// d = F(a, b, c) of one block.
template <class F, class... In>
LANES_INLINE void map_block(float* d, const In*... in) {
  alignas(64) int32_t prepared[kBlock], half[kBlock], c0[kBlock], c12[kBlock];
  alignas(64) uint16_t squares[kBlock];
  for (size_t k = 0; k < kBlock; ++k) {
    prepared[k] = F::prepare(in[k]...);
    half[k] = (prepared[k] & ((1 << F::kShift) - 1)) << F::kDoubled >> 1;
  }
  entries<F>(prepared, c0, c12);
  square(squares, half);
#pragma GCC ivdep
  for (size_t k = 0; k < kBlock; ++k) d[k] = F::finish(in[k]..., prepared[k], c0[k], c12[k], squares[k]);
}

// The reciprocal that all lanes of a block divide by (a softmax's sum is one for a row), found once for blocks with the same
// divisor, which follow each other.
template <class F>
struct OneDivisor {
  LANES_INLINE bool is_shared(const float* b) {
    int32_t others = 0;
    for (size_t k = 0; k < kBlock; ++k) others |= bits_of(b[k]) ^ bits_of(b[0]);
    if (others) return false;
    if (!is_known || bits_of(b[0]) != divisor) {
      alignas(64) float all[kBlock];
      map_block<typename F::OfDivisor>(all, b);
      reciprocal = all[0], divisor = bits_of(b[0]), is_known = true;
    }
    return true;
  }
  bool is_known = false;
  int32_t divisor = 0;
  float reciprocal = 0;
};

template <class... C>
LANES_INLINE const float* second(const float*, const float* b, const C*...) {
  return b;
}

// d = F(a, b, c), of as many operands as In, block by block.
template <class F, class... In>
void map_blocks(Lanes& x, const Operands& o) {
  const auto run = [&](const In*... in) __attribute__((always_inline)) {
    store<float, 1>(x, o.d, [=](float* d, uint32_t first, uint32_t n) __attribute__((always_inline)) {
      if constexpr (requires { typename F::OfDivisor; }) {
        OneDivisor<F> one;
        const float* b = second(in...) + first;
        for (size_t i = 0; i < n; i += kBlock) {
          if (!one.is_shared(b + i)) {
            map_block<F>(d + i, in + first + i...);
            continue;
          }
          const float divisor = b[i], r = one.reciprocal;
#pragma GCC ivdep
          for (size_t k = 0; k < kBlock; ++k) d[i + k] = F::of(r, divisor, in[first + i + k]...);
        }
      } else {
        for (size_t i = 0; i < n; i += kBlock) map_block<F>(d + i, in + first + i...);
      }
    });
  };
  with_operands<1, In...>(x, o, run, std::index_sequence_for<In...>());
}

#define UNIT(op, variant, f) ROW(op, kF32, variant, map_blocks<f, float>)
#define FUNCTION(op, plain, unit) UNIT(op, kVApprox, plain), UNIT(op, kVApprox | kVFtz, unit)
#define DIVISION(variant, around)                                       \
  ROW(kDiv, kF32, variant, map_blocks<Division<around>, float, float>), \
      ROW(kFma, kF32, variant, map_blocks<Division<around>, float, float, float>)
using plain_rcp = Instruction<Rcp, around_rcp>;
using plain_sqrt = Instruction<Sqrt, around_sqrt>;
using plain_rsqrt = Instruction<Rsqrt, around_rsqrt>;
using plain_ex2 = Instruction<Ex2, around_ex2>;
using plain_lg2 = Instruction<Lg2, around_lg2>;
constexpr Row kRows[] = {
    FUNCTION(kRcp, plain_rcp, Rcp),
    FUNCTION(kSqrt, plain_sqrt, Sqrt),
    FUNCTION(kRsqrt, plain_rsqrt, Rsqrt),
    FUNCTION(kEx2, plain_ex2, Ex2),
    FUNCTION(kLg2, plain_lg2, Lg2),
    FUNCTION(kSin, Circular<0>, Circular<0>),
    FUNCTION(kCos, Circular<1>, Circular<1>),
    ROW(kSin, kF32, kVTurns, map_blocks<Circular<0, true>, float>),
    ROW(kCos, kF32, kVTurns, map_blocks<Circular<1, true>, float>),
    DIVISION(kVApprox, div_approx),
    DIVISION(kVApprox | kVFtz, div_approx_ftz),
    DIVISION(kVFullRange, div_full),
    DIVISION(kVFullRange | kVFtz, div_full_ftz),
};

}  // namespace

Rows approx_rows() { return {kRows, sizeof(kRows) / sizeof(Row)}; }

}  // namespace triton_runner::lanes::SIMD_ISA
