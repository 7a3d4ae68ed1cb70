// Computes f32, f32x2 and f64: arithmetic, minima, signs, and the approximations of f64 (PTX ISA 9.7.3); approx.cpp has those of
// f32 but for tanh. Each file of simd/ is compiled once an instruction set, and all give the same bits.
#include "simd/floats.h"

namespace triton_runner::lanes::SIMD_ISA {
namespace {

// Applies Op to f32 under kVFtz and kVSat.
template <class Op, uint32_t kV>
struct with {
  template <class... T>
  LANES_INLINE float operator()(float a, T... more) const {
    if constexpr ((kV & kVFtz) != 0) return finish(flushed(Op{}(flushed(a), flushed(more)...)));
    return finish(Op{}(a, more...));
  }
  LANES_INLINE double operator()(double a) const { return finish(propagated(Op{}(a), a, a)); }
  LANES_INLINE double operator()(double a, double b) const {
    constexpr bool kDivides = __is_same(Op, div);  // its NaN is that of a
    return finish(propagated(Op{}(a, b), kDivides ? b : a, kDivides ? a : b));
  }
  LANES_INLINE double operator()(double a, double b, double c) const {
    return finish(propagated(Op{}(a, b, c), a, b, c));
  }
  LANES_INLINE static float finish(float r) { return (kV & kVSat) != 0 ? saturated(r) : canonical(r); }
  LANES_INLINE static double finish(double r) { return r; }
};

template <bool kMax>
using choice = std::conditional_t<kMax, maxnumf, minnumf>;
template <bool kMax, uint32_t kV>
struct extremum {
  LANES_INLINE float operator()(float a, float b) const {
    if constexpr ((kV & kVFtz) != 0) a = flushed(a), b = flushed(b);
    uint32_t sign = (bits_as<uint32_t>(a) ^ bits_as<uint32_t>(b)) & 0x80000000;
    if constexpr ((kV & kVAbs) != 0) a = __builtin_fabsf(a), b = __builtin_fabsf(b);
    constexpr bool kNan = (kV & kVNan) != 0;
    // larger and smaller, maxnumf and minnumf, as selects of bits, which vectorise.
    const uint32_t x = bits_as<uint32_t>(a), y = bits_as<uint32_t>(b);
    uint32_t chosen = (kMax ? a > b : a < b) ? x : y;
    chosen = a == b ? (kMax ? x & y : x | y) : chosen;
    const uint32_t no_b = 0u - static_cast<uint32_t>(b != b);  // masks, as g++ makes branches of the selects
    if constexpr (!kNan) chosen = (x & no_b) | (chosen & ~no_b);
    float r = bits_as<float>(chosen);
    if constexpr ((kV & kVXorsign) != 0) r = bits_as<float>(bits_as<uint32_t>(r) | sign);
    const uint32_t no_a = 0u - static_cast<uint32_t>(a != a), is_nan = kNan ? no_a | no_b : no_a & no_b;
    return bits_as<float>((bits_as<uint32_t>(r) & ~is_nan) | (bits_as<uint32_t>(nan_f32()) & is_nan));
  }
  LANES_INLINE float operator()(float a, float b, float c) const { return (*this)((*this)(a, b), c); }
  LANES_INLINE double operator()(double a, double b) const {
    double r = choice<kMax>{}(a, b);
    return a != a && b != b ? quiet(b) : r;
  }
};

// map() for formulas with many selects: the loop's pointers are its own, as g++ makes branches of selects between loads of them.
template <class F, class D, class... In>
void map_selects(Lanes& x, const Operands& o) {
  const F f = formula<F>(o);
  const auto run = [&](const In*... in) __attribute__((always_inline)) {
    store<D, 1>(x, o.d, [=](D* d, uint32_t first, uint32_t n) __attribute__((always_inline)) {
      [&](const In*... from) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (size_t i = 0; i < n; ++i) d[i] = f(from[i]...);
      }(in + first...);
    });
  };
  with_operands<1, In...>(x, o, run, std::index_sequence_for<In...>());
}

// Op changes the sign only.
template <class Op, uint32_t kV>
struct signed_by {
  LANES_INLINE float operator()(float a) const {
    const float r = Op{}(a);
    return canonical((kV & kVFtz) != 0 ? flushed(r) : r);
  }
  LANES_INLINE double operator()(double a) const { return a == a ? Op{}(a) : quiet(a); }
};
NUM_FORMULA2(sign_of_first, num::SIMD_ISA::copysign{}(y, x))

// The f64 approximations look at the upper half of the operand and give the upper half of the result.
LANES_INLINE double upper_half(double x) {
  return bits_as<double>(bits_as<uint64_t>(x) & 0xffffffff00000000);
}
LANES_INLINE double finish_upper(double r, double a) {
  uint64_t bits = bits_as<uint64_t>(r);
  bits = bits & 0x7ff0000000000000 ? bits : bits & 0x8000000000000000;
  r = bits_as<double>(bits & 0xffffffff00000000);
  return r == r && a == a ? r : bits_as<double>(0x7fffffff00000000);
}
LANES_INLINE double flushed_operand(double a) {
  uint64_t bits = bits_as<uint64_t>(upper_half(a));
  return bits_as<double>(bits & 0x7ff0000000000000 ? bits : bits & 0x8000000000000000);
}
struct rcp_f64 {
  LANES_INLINE double operator()(double a) const {
    return finish_upper(1.0 / flushed_operand(a), upper_half(a));
  }
};
struct rsqrt_f64 {
  LANES_INLINE double operator()(double a) const {
    return finish_upper(1.0 / __builtin_sqrt(flushed_operand(a)), upper_half(a));
  }
};
// Without .ftz it is refined from those halves, as ptxas has it done: one step of third order. What is not normal goes
// another way: subnormals are scaled.
struct whole_rsqrt_f64 {
  LANES_INLINE double of_normal(double a) const {
    const double y = rsqrt_f64{}(a);
    const double e = __builtin_fma(a, -(y * y), 1.0);
    return __builtin_fma(__builtin_fma(e, 0.375, 0.5), y * e, y);
  }
  LANES_INLINE double operator()(double a) const {
    const uint64_t bits = bits_as<uint64_t>(a);
    if (bits - 0x0010000000000000 < 0x7fe0000000000000) return of_normal(a);
    if (a == 0) return bits_as<double>(bits | 0x7ff0000000000000);
    if (a != a) return quiet(a);
    if (a < 0) return bits_as<double>(0xfff8000000000000);
    return bits == 0x7ff0000000000000 ? 0.0 : of_normal(a * 0x1p54) * 0x1p27;
  }
};

// Calls the function of num that Operands::data points to, on f32 registers: tanh alone needs it.
using Function = void (*)(void*, const void*, const void*, const void*, int64_t);
void function_f32(Lanes& x, const Operands& o) {
  const float* a = values<const float>(x, o.a);
  auto function = reinterpret_cast<Function>(const_cast<void*>(o.data));
  store<float, 1>(x, o.d, [=](float* d, uint32_t first, uint32_t n) __attribute__((always_inline)) {
    function(d, a + first, nullptr, nullptr, n);
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) d[i] = canonical(d[i]);
  });
}

using f32 = float;
using f64 = double;

// Op under a variant for .f32, rounded to nearest and in a direction.
#define ROUNDED(op, type, pack, v, f, ...)                     \
  ROW(op, type, v, map<with<f, (v)>, pack, f32, __VA_ARGS__>), \
      ROW(op, type, (v) | kVDirected, map_directed<with<f, (v)>, pack, f32, __VA_ARGS__>)
#define FTZ(op, type, pack, f, ...) \
  ROUNDED(op, type, pack, 0u, f, __VA_ARGS__), ROUNDED(op, type, pack, kVFtz, f, __VA_ARGS__)
#define FTZ_AND_SAT(op, f, ...)                                                  \
  FTZ(op, kF32, 1, f, __VA_ARGS__), ROUNDED(op, kF32, 1, kVSat, f, __VA_ARGS__), \
      ROUNDED(op, kF32, 1, kVFtz | kVSat, f, __VA_ARGS__)
#define DOUBLE(op, f, ...)                                \
  ROW(op, kF64, 0, map<with<f, 0>, 1, f64, __VA_ARGS__>), \
      ROW(op, kF64, kVDirected, map_directed<with<f, 0>, 1, f64, __VA_ARGS__>)
// `more` is of the row only.
#define EXTREME(op, is_max, v, more, ...)                                          \
  ROW(op, kF32, (v) | more, map_selects<extremum<is_max, (v)>, f32, __VA_ARGS__>), \
      ROW(op, kF32, (v) | more | kVFtz, map_selects<extremum<is_max, (v) | kVFtz>, f32, __VA_ARGS__>)
#define EXTREMES_OF(op, is_max, abs, more, ...)                                              \
  EXTREME(op, is_max, 0u, more, __VA_ARGS__), EXTREME(op, is_max, kVNan, more, __VA_ARGS__), \
      EXTREME(op, is_max, abs, more, __VA_ARGS__), EXTREME(op, is_max, kVNan | abs, more, __VA_ARGS__)
#define EXTREMES(op, is_max)                                  \
  EXTREMES_OF(op, is_max, kVXorsign | kVAbs, 0u, f32, f32),   \
      EXTREMES_OF(op, is_max, kVAbs, kVThree, f32, f32, f32), \
      ROW(op, kF64, 0, map<extremum<is_max, 0>, 1, f64, f64, f64>)
#define SIGN(op, f)                                                \
  ROW(op, kF32, 0, map<signed_by<f, 0>, 1, f32, f32>),             \
      ROW(op, kF32, kVFtz, map<signed_by<f, kVFtz>, 1, f32, f32>), \
      ROW(op, kF64, 0, map<signed_by<f, 0>, 1, f64, f64>)

constexpr Row kRows[] = {
    FTZ_AND_SAT(kAdd, add, f32, f32),
    FTZ_AND_SAT(kSub, sub, f32, f32),
    FTZ_AND_SAT(kMul, mul, f32, f32),
    FTZ_AND_SAT(kFma, fma, f32, f32, f32),
    FTZ_AND_SAT(kMad, fma, f32, f32, f32),
    FTZ(kAdd, kF32x2, 2, add, f32, f32),
    FTZ(kSub, kF32x2, 2, sub, f32, f32),
    FTZ(kMul, kF32x2, 2, mul, f32, f32),
    FTZ(kFma, kF32x2, 2, fma, f32, f32, f32),
    DOUBLE(kAdd, add, f64, f64),
    DOUBLE(kSub, sub, f64, f64),
    DOUBLE(kMul, mul, f64, f64),
    DOUBLE(kFma, fma, f64, f64, f64),
    DOUBLE(kMad, fma, f64, f64, f64),
    DOUBLE(kDiv, div, f64, f64),
    DOUBLE(kRcp, rcp, f64),
    DOUBLE(kSqrt, sqrt, f64),
    FTZ(kDiv, kF32, 1, div, f32, f32),
    FTZ(kRcp, kF32, 1, rcp, f32),
    FTZ(kSqrt, kF32, 1, sqrt, f32),
    EXTREMES(kMin, false),
    EXTREMES(kMax, true),
    SIGN(kNeg, negf),
    SIGN(kAbs, absf),
    ROW(kCopysign, kF32, 0, map<sign_of_first, 1, f32, f32, f32>),
    ROW(kCopysign, kF64, 0, map<sign_of_first, 1, f64, f64, f64>),
    ROW(kRcp, kF64, kVApprox | kVFtz, map<rcp_f64, 1, f64, f64>),
    ROW(kRsqrt, kF64, kVApprox | kVFtz, map<rsqrt_f64, 1, f64, f64>),
    ROW(kRsqrt, kF64, kVApprox, map<whole_rsqrt_f64, 1, f64, f64>),
    ROW(kTanh, kF32, kVApprox, function_f32),
};

}  // namespace

Rows float_rows() { return {kRows, sizeof(kRows) / sizeof(Row)}; }

}  // namespace triton_runner::lanes::SIMD_ISA
