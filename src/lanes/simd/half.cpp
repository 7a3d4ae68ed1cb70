// Computes arithmetic of f16, bf16 and their pairs: in f32, rounded once, which is right for sums and
// products (f32 has more than twice the bits). See PTX ISA 9.7.4, 9.7.5.
#include "simd/floats.h"

namespace triton_runner::lanes::SIMD_ISA {
namespace {

constexpr size_t kBlock = 256;

// The body that goes block by block: operands, flushed under kVFtz, as floats; compute(floats, n) leaves results in the first
// ones; rounded(d, n) sees what they were rounded to.
template <class T, int kArity, uint32_t kV, class Compute, class Rounded>
struct Blocks {
  const uint16_t* in[kArity];
  Compute compute;
  Rounded rounded;

  LANES_INLINE void operator()(uint16_t* d, uint32_t first, uint32_t n) const {
    alignas(64) float block[kArity][kBlock];
    alignas(64) uint16_t kept[kBlock];
    for (size_t at = 0; at < n; at += kBlock) {
      const size_t m = n - at < kBlock ? n - at : kBlock;
#pragma GCC unroll 3
      for (int k = 0; k < kArity; ++k) {
        const uint16_t* from = in[k] + first + at;
        if constexpr ((kV & kVFtz) != 0) {
#pragma GCC ivdep
          for (size_t i = 0; i < m; ++i) kept[i] = flushed_half<T>(from[i]);
          from = kept;
        }
        T::template widen<true>(block[k], from, m);
      }
      compute(block, m);
      T::template narrow<Rounding::kNearestEven, true>(d + at, block[0], m);
      rounded(d + at, m);
    }
  }
};
template <class T, int kPack, int kArity, uint32_t kV, class Compute, class Rounded>
LANES_INLINE void in_blocks(Lanes& x, const Operands& o, const Compute& compute, const Rounded& rounded) {
  const uint32_t places[] = {o.a, o.b, o.c};
  Blocks<T, kArity, kV, Compute, Rounded> body{{}, compute, rounded};
  for (int k = 0; k < kArity; ++k) body.in[k] = values<const uint16_t, kPack>(x, places[k]);
  store<uint16_t, kPack, kV != 0>(x, o.d, body);  // what flushes, saturates or has relu is seldom done
}

template <class Op, int kArity, uint32_t kV>
struct Arithmetic {
  LANES_INLINE void operator()(float (&f)[kArity][kBlock], size_t m) const {
#pragma GCC ivdep
    for (size_t i = 0; i < m; ++i) {
      float r;
      if constexpr (kArity > 2)
        r = Op{}(f[0][i], f[1][i], f[2][i]);
      else
        r = Op{}(f[0][i], f[1][i]);
      // Flushed if it is below the smallest normal number when rounded to 11 bits with any exponent.
      constexpr float kTiny = 0x1p-14f - 0x1p-26f;
      if constexpr ((kV & kVFtz) != 0) r = __builtin_fabsf(r) < kTiny ? __builtin_copysignf(0.0f, r) : r;
      if constexpr ((kV & kVSat) != 0) r = saturated(r);
      if constexpr ((kV & kVRelu) != 0) r = r < 0.0f || r == 0.0f ? 0.0f : r;
      f[0][i] = r;
    }
  }
};
struct AsItIs {
  LANES_INLINE void operator()(uint16_t*, size_t) const {}
};
template <class T, int kPack, int kArity, class Op, uint32_t kV>
void arithmetic(Lanes& x, const Operands& o) {
  in_blocks<T, kPack, kArity, kV>(x, o, Arithmetic<Op, kArity, kV>{}, AsItIs{});
}

// min, max: as integers in the order of the floats.
template <class T, uint32_t kV, bool kMax>
struct extremum {
  LANES_INLINE uint16_t operator()(uint16_t a, uint16_t b) const {
    if constexpr ((kV & kVFtz) != 0) a = flushed_half<T>(a), b = flushed_half<T>(b);
    uint16_t sign = uint16_t((a ^ b) & 0x8000);
    if constexpr ((kV & kVAbs) != 0) a &= 0x7fff, b &= 0x7fff;
    bool a_nan = (a & 0x7fff) > T::kExponent, b_nan = (b & 0x7fff) > T::kExponent;
    int16_t x = int16_t(a), y = int16_t(b);
    int16_t key_x = int16_t(x ^ ((x >> 15) & 0x7fff)), key_y = int16_t(y ^ ((y >> 15) & 0x7fff));
    bool first = kMax ? key_x > key_y : key_x < key_y;
    uint16_t r = first ? a : b;
    r = a_nan ? b : r;
    r = b_nan ? a : r;
    bool nan = (kV & kVNan) != 0 ? a_nan | b_nan : a_nan & b_nan;
    if constexpr ((kV & kVXorsign) != 0) r |= sign;
    return nan ? uint16_t(0x7fff) : r;
  }
  LANES_INLINE uint16_t operator()(uint16_t a, uint16_t b, uint16_t c) const {
    return (*this)((*this)(a, b), c);
  }
};
template <class T, uint32_t kV, bool kAbs>
struct signed_by {
  LANES_INLINE uint16_t operator()(uint16_t a) const {
    a = kAbs ? a & 0x7fff : a ^ 0x8000;
    if constexpr ((kV & kVFtz) != 0) a = flushed_half<T>(a);
    return (a & 0x7fff) > T::kExponent ? uint16_t(0x7fff) : a;
  }
};

// f32 sums and products of f16 or bf16 operands: add, sub a (narrow) and b (f32); fma a, b narrow, c f32; of
// pairs only a is narrow.
template <class Op, class T, uint32_t kV>
struct mixed {
  template <class... In>
  LANES_INLINE float operator()(In... x) const {
    const float r = Op{}(wide(x)...);
    return (kV & kVSat) != 0 ? saturated(r) : canonical(r);
  }
  LANES_INLINE static float wide(uint16_t x) { return T::wide(x); }
  LANES_INLINE static float wide(float x) { return x; }
};

// ex2 and tanh: a function of num (Operands::data) on f32, rounded.
using Function = void (*)(void*, const void*, const void*, const void*, int64_t);
struct CallOfFunction {
  Function function;
  LANES_INLINE void operator()(float (&f)[1][kBlock], size_t m) const {
    function(f[0], f[0], nullptr, nullptr, int64_t(m));
  }
};
template <class T, uint32_t kV>
struct FlushedAfter {
  LANES_INLINE void operator()(uint16_t* d, size_t m) const {
    if constexpr ((kV & kVFtz) != 0)
      for (size_t i = 0; i < m; ++i) d[i] = flushed_half<T>(d[i]);
  }
};
template <class T, int kPack, uint32_t kV>
void function(Lanes& x, const Operands& o) {
  const auto function = reinterpret_cast<Function>(const_cast<void*>(o.data));
  in_blocks<T, kPack, 1, kV>(x, o, CallOfFunction{function}, FlushedAfter<T, kV>{});
}

using u16 = uint16_t;

// Rows for one value a lane, and for two.
#define ARITHMETIC(op, n, f, T, one, two, v) \
  ROW(op, one, v, arithmetic<T, 1, n, f, (v)>), ROW(op, two, v, arithmetic<T, 2, n, f, (v)>)
#define TYPES(op, n, f, v) \
  ARITHMETIC(op, n, f, F16, kF16, kF16x2, v), ARITHMETIC(op, n, f, BF16, kBf16, kBf16x2, v)
#define F16_ONLY(op, n, f, v) ARITHMETIC(op, n, f, F16, kF16, kF16x2, v)
#define SUM(op, f) \
  TYPES(op, 2, f, 0u), F16_ONLY(op, 2, f, kVFtz), F16_ONLY(op, 2, f, kVSat), F16_ONLY(op, 2, f, kVFtz | kVSat)
// f<T, v, more> of f16, of f16 with what it flushes, of bf16.
#define EACH_OF(op, v, T, one, two, f, more, ...)                                  \
  ROW(op, one, v, map_each<((v) & ~kVNan) != 0, f<T, (v), more>, 1, __VA_ARGS__>), \
      ROW(op, two, v, map_each<((v) & ~kVNan) != 0, f<T, (v), more>, 2, __VA_ARGS__>)
#define EACH(op, v, f, more, ...)                                        \
  EACH_OF(op, v, F16, kF16, kF16x2, f, more, __VA_ARGS__),               \
      EACH_OF(op, (v) | kVFtz, F16, kF16, kF16x2, f, more, __VA_ARGS__), \
      EACH_OF(op, v, BF16, kBf16, kBf16x2, f, more, __VA_ARGS__)
#define UNARY(op, is_abs) EACH(op, 0u, signed_by, is_abs, u16, u16)
#define EXTREME(op, is_max, v) EACH(op, v, extremum, is_max, u16, u16, u16)
#define EXTREMES(op, is_max)                                                                   \
  EXTREME(op, is_max, 0u), EXTREME(op, is_max, kVNan), EXTREME(op, is_max, kVXorsign | kVAbs), \
      EXTREME(op, is_max, kVNan | kVXorsign | kVAbs)
#define MIXED_ROW(op, pack, result, T, t, v, f, ...)                                \
  ROW_OF(op, result, t, v, map_seldom<mixed<f, T, (v)>, pack, float, __VA_ARGS__>), \
      ROW_OF(op, result, t, (v) | kVDirected, map_directed<mixed<f, T, (v)>, pack, float, __VA_ARGS__>)
#define MIXED(op, f, ...)                                       \
  MIXED_ROW(op, 1, kF32, F16, kF16, 0u, f, __VA_ARGS__),        \
      MIXED_ROW(op, 1, kF32, F16, kF16, kVSat, f, __VA_ARGS__), \
      MIXED_ROW(op, 1, kF32, BF16, kBf16, 0u, f, __VA_ARGS__),  \
      MIXED_ROW(op, 1, kF32, BF16, kBf16, kVSat, f, __VA_ARGS__)
#define MIXED_PAIRS(op, f, ...)                              \
  MIXED_ROW(op, 2, kF32x2, F16, kF16x2, 0u, f, __VA_ARGS__), \
      MIXED_ROW(op, 2, kF32x2, BF16, kBf16x2, 0u, f, __VA_ARGS__)
#define FUNCTION(op, T, one, two, v) \
  ROW(op, one, kVApprox | (v), function<T, 1, (v)>), ROW(op, two, kVApprox | (v), function<T, 2, (v)>)

constexpr Row kRows[] = {
    SUM(kAdd, add),
    SUM(kSub, sub),
    SUM(kMul, mul),
#define FMA_F16(v) ARITHMETIC(kFma, 3, fused_odd<F16::Exact>, F16, kF16, kF16x2, v)
#define FMA_BF16(v) ARITHMETIC(kFma, 3, fused_odd<BF16::Exact>, BF16, kBf16, kBf16x2, v)
    FMA_F16(0u),
    FMA_F16(kVFtz),
    FMA_F16(kVSat),
    FMA_F16(kVFtz | kVSat),
    FMA_F16(kVRelu),
    FMA_F16(kVFtz | kVRelu),
    FMA_BF16(0u),
    FMA_BF16(kVRelu),
    EXTREMES(kMin, false),
    EXTREMES(kMax, true),
    UNARY(kNeg, false),
    UNARY(kAbs, true),
    MIXED(kAdd, add, u16, float),
    MIXED(kSub, sub, u16, float),
    MIXED(kFma, fma, u16, u16, float),
    MIXED_PAIRS(kAdd, add, u16, float),
    MIXED_PAIRS(kSub, sub, u16, float),
    MIXED_PAIRS(kFma, fma, u16, float, float),
    FUNCTION(kEx2, F16, kF16, kF16x2, 0u),
    FUNCTION(kEx2, F16, kF16, kF16x2, kVFtz),
    FUNCTION(kEx2, BF16, kBf16, kBf16x2, kVFtz),
    FUNCTION(kTanh, F16, kF16, kF16x2, 0u),
    FUNCTION(kTanh, BF16, kBf16, kBf16x2, 0u),
};

}  // namespace

Rows half_rows() { return {kRows, sizeof(kRows) / sizeof(Row)}; }

}  // namespace triton_runner::lanes::SIMD_ISA
