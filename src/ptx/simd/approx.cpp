// The .approx functions of f32 as an H100's special function unit has them, bit for bit: PTX ISA 9.7.3.
//
// The unit takes the upper bits of a fixed-point argument as the index of a table and the lower bits x as the
// point between two entries: c0 + c1 x + c2 square(x), where the squarer drops what is below its 16 result
// bits one partial product at a time (the form of Oberman and Siu, ARITH 2005). The tables and shifts are
// those that give every measured result: tests/gpu/approx.py measures, approx_fit.py fits approx_tables.inc.
// What the instructions do around the unit (.ftz or scaled subnormals) is as ptxas writes it.
#include "simd/floats.h"

namespace triton_runner::ptx::PTX_ISA {
namespace {

// c0 of 26 bits, and c1 * 4096 + c2 (c2 of 12 bits with its sign).
struct Entry {
  int32_t c0, c12;
};
#include "simd/approx_tables.inc"

PTX_INLINE int32_t bits_of(float x) { return as<int32_t>(x); }
PTX_INLINE float float_of(int32_t bits) { return as<float>(bits); }
constexpr int32_t kOne = 1 << 23;  // of a significand, and of an exponent
constexpr int32_t kInfinity = 0x7f800000;
constexpr int32_t kFraction = kOne - 1;

// The upper bits of x * x for x below 2^17; each of the 17 partial products is cut off.
PTX_INLINE int32_t square(int32_t x) {
  int32_t sum = 0;
#pragma GCC unroll 17
  for (int i = 2; i < 17; ++i) sum += x & (1 << i) ? x >> (18 - i) : 0;
  return sum >> 1;
}

// (c0 2^(kShift - 2) + c1 x + c2 2^kScale s + kBias) >> kShift in 32 bits; c1 x below 2^33.
template <int kShift, int kScale, int32_t kBias>
PTX_INLINE int32_t interpolate(int32_t c0, int32_t c1, int32_t c2, int32_t x, int32_t s) {
  int32_t low = ((c0 & 3) << (kShift - 2)) + kBias + c2 * (s << kScale) + c1 * (x & 7);
  return (c0 >> 2) + ((c1 * (x >> 3) + (low >> 3)) >> (kShift - 3));
}
PTX_INLINE int32_t c1_of(int32_t c12) { return c12 >> 12; }
PTX_INLINE int32_t c2_of(int32_t c12) { return int32_t(uint32_t(c12) << 20) >> 20; }

// The unit's functions: they take subnormals as zeros and give zeros for them.
struct Rcp {
  PTX_INLINE float operator()(float a) const {
    int32_t size = bits_of(a) & 0x7fffffff;
    int32_t x = size & 0xffff;
    const Entry& e = kRcpTable[(size >> 16) & 127];
    int32_t c = e.c12;
    int32_t r = interpolate<15, 0, 0x47e7>(e.c0, c1_of(c), c2_of(c), x, square(x << 1));
    r += (252 - (size >> 23)) * kOne;
    r = r < kOne ? 0 : r;
    r = size < kOne ? kInfinity : r;
    r |= bits_of(a) & int32_t(0x80000000);
    return a == a ? float_of(r) : nan_f32();
  }
};

// The significand of [1, 4) with an even exponent below it.
struct Root {
  int32_t x, index, exponent;
  PTX_INLINE explicit Root(int32_t bits) {
    int32_t fraction = (bits & kFraction) | (~bits & kOne);
    x = fraction & 0x1ffff;
    index = fraction >> 17;
    exponent = ((bits >> 23) - 127) >> 1;
  }
};
struct Rsqrt {
  PTX_INLINE float operator()(float a) const {
    int32_t bits = bits_of(a), size = bits & 0x7fffffff;
    Root root(size);
    const Entry& e = kRsqrtTable[root.index];
    int32_t c = e.c12;
    int32_t r = interpolate<16, 2, 0x7fff>(e.c0, c1_of(c), c2_of(c), root.x, square(root.x));
    r = (root.x | root.index) == 0 ? 2 * kOne : r;
    r += (125 - root.exponent) * kOne;
    r = size == kInfinity ? 0 : r;
    r = bits < 0 ? 0x7fffffff : r;
    r = size < kOne ? kInfinity | (bits & int32_t(0x80000000)) : r;
    return a == a ? float_of(r) : nan_f32();
  }
};
struct Sqrt {
  PTX_INLINE float operator()(float a) const {
    int32_t bits = bits_of(a), size = bits & 0x7fffffff;
    Root root(size);
    const Entry& e = kSqrtTable[root.index];
    int32_t c = e.c12, twice = root.index >> 6;  // from 2 on, c1 and c2 are of half the scale
    int32_t r =
        interpolate<17, 0, 0xffff>(e.c0, c1_of(c) << twice, c2_of(c) << twice, root.x, square(root.x));
    r += (126 + root.exponent) * kOne;
    r = size == kInfinity ? kInfinity : r;
    r = bits < 0 ? 0x7fffffff : r;
    r = size < kOne ? bits & int32_t(0x80000000) : r;
    return a == a ? float_of(r) : nan_f32();
  }
};
struct Ex2 {
  PTX_INLINE float operator()(float a) const {
    float size = __builtin_fabsf(a);
    size = size < 128.0f ? size : 128.0f;
    int32_t fixed = int32_t(size * 0x1p23f);
    int32_t whole = ((fixed & kFraction) - 1) >> 31, sign = bits_of(a) >> 31;
    fixed = (fixed ^ sign) - (whole & sign);  // a negative whole number is negated, others complemented
    int32_t x = fixed & 0x1ffff;
    const Entry& e = kEx2Table[(fixed >> 17) & 63];
    int32_t c = e.c12;
    int32_t r = interpolate<15, 0, 0x77e2>(e.c0, c1_of(c), c2_of(c), x, square(x));
    r += ((fixed >> 23) + 126) * kOne;
    r = r < kOne ? 0 : r;
    return a == a ? float_of(r) : nan_f32();
  }
};

// value with its bits below the 24 upper ones cut off.
PTX_INLINE float cut(double value) {
  return float(as<double>(as<uint64_t>(value) & ~((uint64_t(1) << 29) - 1)));
}

struct Lg2 {
  PTX_INLINE float operator()(float a) const {
    int32_t bits = bits_of(a), size = bits & 0x7fffffff;
    int32_t x = bits & 0x1ffff;
    const Entry& e = kLg2Table[(bits >> 17) & 63];
    int32_t c = e.c12;
    double sum =
        double(e.c0) * 4096 + double(c1_of(c)) * double(x) + double(c2_of(c) * (square(x) * 2) + 0x3345);
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

// kQuadrant: 0 for the sine, 1 for the cosine. The argument is multiplied by 1/(2 pi), rounded to zero.
template <int kQuadrant>
struct Circular {
  PTX_INLINE float operator()(float a) const {
    int32_t size = bits_of(a) & 0x7fffffff;
    size &= (size - kInfinity) >> 31;  // 0 for what is not finite; a select here keeps loops from vectorising
    double turns = double(cut(double(float_of(size)) * double(0.15915494f)));
    double units = __builtin_floor(turns * 0x1p25);
    units -= __builtin_floor(units * 0x1p-25) * 0x1p25;
    int32_t fixed = int32_t(units) + kQuadrant * kOne;
    int32_t back = -((fixed >> 23) & 1);
    int32_t sign = int32_t(uint32_t(fixed >> 24) << 31);
    if constexpr (kQuadrant == 0) sign ^= bits_of(a) & int32_t(0x80000000);
    fixed ^= back;
    int32_t x = fixed & 0x1ffff;
    const Entry& e = kSinTable[(fixed >> 17) & 63];
    int32_t c = e.c12;
    double sum = double(e.c0) * 2048 + double(c1_of(c)) * double(x) + double(c2_of(c) * square(x));
    int32_t r = bits_of(cut(sum * 0x1p-37)) ^ sign;
    return a - a == 0 ? float_of(r) : nan_f32();
  }
};

// The instructions.
struct plain_sqrt {
  PTX_INLINE float operator()(float a) const {
    bool low = __builtin_fabsf(a) < 0x1p-126f;
    float r = Sqrt{}(low ? a * 0x1p24f : a);
    return low ? r * 0x1p-12f : r;
  }
};
struct plain_rsqrt {
  PTX_INLINE float operator()(float a) const {
    bool low = __builtin_fabsf(a) < 0x1p-126f;
    float r = Rsqrt{}(low ? a * 0x1p24f : a);
    return low ? r * 0x1p12f : r;
  }
};
struct plain_ex2 {
  PTX_INLINE float operator()(float a) const {
    bool low = a < -126.0f;
    float r = Ex2{}(low ? a * 0.5f : a);
    return low ? r * r : r;
  }
};
struct plain_lg2 {
  PTX_INLINE float operator()(float a) const {
    bool low = __builtin_fabsf(a) < 0x1p-126f;
    float r = Lg2{}(low ? a * 0x1p23f : a);
    return canonical(low ? r - 23.0f : r);
  }
};
struct plain_rcp {
  PTX_INLINE float operator()(float a) const {
    float size = __builtin_fabsf(a);
    float scale = size < 0x1p-126f ? 0x1p24f : size > 0x1p126f ? 0x1p-2f : 1.0f;
    return canonical(Rcp{}(a * scale) * scale);
  }
};
template <bool kFtz>
struct div_approx {
  PTX_INLINE float operator()(float a, float b) const {
    if constexpr (kFtz) return canonical(flushed(flushed(a) * Rcp{}(b)));
    float scale = __builtin_fabsf(b) < 0x1p-126f ? 0x1p24f : 1.0f;  // large ones have a reciprocal of 0
    return canonical(a * scale * Rcp{}(b * scale));
  }
};
template <bool kFtz>
struct div_full {
  PTX_INLINE float operator()(float a, float b) const {
    float size = __builtin_fabsf(b);
    if constexpr (kFtz) {
      float scale = size > 0x1p126f ? 0x1p-2f : 1.0f;
      return canonical(flushed(flushed(flushed(a) * scale) * Rcp{}(b * scale)));
    }
    float scale = size < 0x1p-126f ? 0x1p24f : size > 0x1p126f ? 0x1p-2f : 1.0f;
    return canonical(a * scale * Rcp{}(b * scale));
  }
};

using M = Mod;
using O = Opcode;
using f32 = float;

#define FUNCTION(op, plain, unit)                                      \
  {O::op, M::kF32, M::kNone, kVApprox, map<plain, 1, f32, f32>}, {     \
    O::op, M::kF32, M::kNone, kVApprox | kVFtz, map<unit, 1, f32, f32> \
  }
constexpr Row kRows[] = {
    FUNCTION(kRcp, plain_rcp, Rcp),
    FUNCTION(kSqrt, plain_sqrt, Sqrt),
    FUNCTION(kRsqrt, plain_rsqrt, Rsqrt),
    FUNCTION(kEx2, plain_ex2, Ex2),
    FUNCTION(kLg2, plain_lg2, Lg2),
    FUNCTION(kSin, Circular<0>, Circular<0>),
    FUNCTION(kCos, Circular<1>, Circular<1>),
    {O::kDiv, M::kF32, M::kNone, kVApprox, map<div_approx<false>, 1, f32, f32, f32>},
    {O::kDiv, M::kF32, M::kNone, kVApprox | kVFtz, map<div_approx<true>, 1, f32, f32, f32>},
    {O::kDiv, M::kF32, M::kNone, kVFull, map<div_full<false>, 1, f32, f32, f32>},
    {O::kDiv, M::kF32, M::kNone, kVFull | kVFtz, map<div_full<true>, 1, f32, f32, f32>},
};

}  // namespace

Rows approx_rows() { return {kRows, sizeof(kRows) / sizeof(Row)}; }

}  // namespace triton_runner::ptx::PTX_ISA
