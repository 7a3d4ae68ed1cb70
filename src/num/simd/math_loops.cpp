// Loops of the math functions. exp, exp2, log and log2 of f32 have kernels of their own; the other f32
// functions are the f64 ones rounded once; f16, bf16 and fp8 go through f32. The rare ones call the C
// library's f64 function.
#include "simd/math.h"
#include "simd/streams.h"

// Declared here: <cmath> would bring inline functions. These are the C library's, on any instruction set the
// same code.
extern "C" {
double erf(double);
double erfc(double);
double lgamma_r(double, int*);
double tgamma(double);
double atan2(double, double);
double pow(double, double);
double hypot(double, double);
double j0(double);
double j1(double);
double y0(double);
double y1(double);
}

namespace triton_runner::num::NUM_ISA {
namespace {

inline double lgamma_of(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// A formula in f64, for f64 and, rounded, for f32.
#define MATH1(name, ...)                                             \
  struct name {                                                      \
    static NUM_INLINE double apply(double x) { return __VA_ARGS__; } \
    static NUM_INLINE float apply(float value) {                     \
      return static_cast<float>(apply(static_cast<double>(value)));  \
    }                                                                \
  };
#define MATH2(name, ...)                                                                \
  struct name {                                                                         \
    static NUM_INLINE double apply(double x, double y) { return __VA_ARGS__; }          \
    static NUM_INLINE float apply(float x, float y) {                                   \
      return static_cast<float>(apply(static_cast<double>(x), static_cast<double>(y))); \
    }                                                                                   \
  };
#define MATH1_BOTH(name)                                               \
  struct name {                                                        \
    static NUM_INLINE double apply(double x) { return name##_f64(x); } \
    static NUM_INLINE float apply(float x) { return name##_f32(x); }   \
  };
MATH1_BOTH(exp)
MATH1_BOTH(exp2)
MATH1_BOTH(log)
MATH1_BOTH(log2)
MATH1(exp10, exp10_f64(x))
MATH1(expm1, expm1_f64(x))
MATH1(log10, log10_f64(x))
MATH1(log1p, log1p_f64(x))
MATH1(tanh, tanh_f64(x))
MATH1(sinh, sinh_f64(x))
MATH1(cosh, cosh_f64(x))
MATH1(asinh, asinh_f64(x))
MATH1(acosh, acosh_f64(x))
MATH1(atanh, atanh_f64(x))
MATH1(asin, asin_f64(x))
MATH1(acos, acos_f64(x))
MATH1(atan, atan_f64(x))
MATH1(cbrt, cbrt_f64(x))
MATH1(erfc, ::erfc(x))
MATH1(lgamma, lgamma_of(x))
MATH1(tgamma, ::tgamma(x))
MATH1(j0, ::j0(x))
MATH1(j1, ::j1(x))
MATH1(y0, ::y0(x))
MATH1(y1, ::y1(x))
MATH2(atan2, ::atan2(x, y))
MATH2(powf, ::pow(x, y))
MATH2(hypot, ::hypot(x, y))
struct erf {
  static NUM_INLINE double apply(double x) { return ::erf(x); }
  static NUM_INLINE float apply(float x) { return static_cast<float>(erf_for_f32(x)); }
};

// sin, cos and tan (F): the vector formula, then element by element those beyond its reduction.
template <class T, class F>
int64_t trig_loop(void* out, const void* a, const void*, const void*, int64_t n) {
  auto* o = static_cast<T*>(out);
  auto* x = static_cast<const T*>(a);
  T kept[kChunk];  // out may be a
  for (int64_t i = 0; i < n; i += kChunk) {
    int64_t m = n - i < kChunk ? n - i : kChunk;
    int32_t beyond = 0;
    for (int64_t j = 0; j < m; ++j) {
      kept[j] = x[i + j];
      beyond |= (kept[j] > static_cast<T>(kTrigLimit)) | (kept[j] < static_cast<T>(-kTrigLimit));
    }
#pragma GCC ivdep
    for (int64_t j = 0; j < m; ++j) {
      double value = sizeof(T) == 4 ? F::of_f32(reduced(kept[j])) : F::of(reduced(kept[j]));
      o[i + j] =
          static_cast<T>(F::kOdd && absolute(kept[j]) < 0x1p-27 ? static_cast<double>(kept[j]) : value);
    }
    if (!beyond) continue;
    for (int64_t j = 0; j < m; ++j) {
      if (!(absolute(kept[j]) > kTrigLimit)) continue;
      HugeAngle angle = absolute(kept[j]) == kInf ? HugeAngle{kNan, 0, 0} : reduce_huge_angle(kept[j]);
      o[i + j] = static_cast<T>(F::of(Reduced{angle.high, angle.low, angle.quarter}));
    }
  }
  return -1;
}

// exp and exp2 of f32: stretches whose results are all normal or plainly 0 (masked scores are -inf) take the
// shorter formula.
struct exp_normal {
  static constexpr float kZero = -110.0f, kLow = kExpLow, kHigh = kExpHigh;
  static NUM_INLINE float apply(float x) {
    float y = exp_f32_normal(x);
    return x < kZero ? 0.0f : y;
  }
};
struct exp2_normal {
  static constexpr float kZero = -160.0f, kLow = kExp2Low, kHigh = kExp2High;
  static NUM_INLINE float apply(float x) {
    float y = exp2_f32_normal(x);
    return x < kZero ? 0.0f : y;
  }
};
template <class Normal, class General, bool kOfDifference = false>  // of a - b
int64_t exp_loop(void* out, const void* a, const void* b, const void*, int64_t n) {
  auto* o = static_cast<float*>(out);
  auto* x = static_cast<const float*>(a);
  auto* y = static_cast<const float*>(b);
  alignas(64) float kept[kChunk];  // out may be a
  for (int64_t i = 0; i < n; i += kChunk) {
    int64_t m = n - i < kChunk ? n - i : kChunk;
    int32_t outside = 0;
#pragma GCC ivdep
    for (int64_t j = 0; j < m; ++j) {
      float value = kOfDifference ? x[i + j] - y[i + j] : x[i + j];
      kept[j] = value;
      outside |= !(((value > Normal::kLow) & (value < Normal::kHigh)) | (value < Normal::kZero));
      o[i + j] = Normal::apply(value);
    }
    if (outside) map1<float, float, General>(o + i, kept, nullptr, nullptr, m);
  }
  return -1;
}

template <Loop kF32, Loop kF64, int arity>
Loop by_type(Type in) {
  if (in == Type::kF32 || in == Type::kTF32) return kF32;
  if (in == Type::kF64) return kF64;
  return narrow_loop<kF32, arity>(in);
}

template <class F, int arity>
Loop pick(Type in) {
  if constexpr (arity == 1)
    return by_type<map1<float, float, F>, map1<double, double, F>, 1>(in);
  else
    return by_type<map2<float, float, F>, map2<double, double, F>, 2>(in);
}

template <class F>
Loop pick_trig(Type in) {
  return by_type<trig_loop<float, F>, trig_loop<double, F>, 1>(in);
}

}  // namespace

Loop find_math(Functor functor, Type in, Type out) {
  if (in != out) return nullptr;
  switch (functor) {
    case Functor::exp:
      return by_type<exp_loop<exp_normal, exp>, map1<double, double, exp>, 1>(in);
    case Functor::exp2:
      return by_type<exp_loop<exp2_normal, exp2>, map1<double, double, exp2>, 1>(in);
    case Functor::sin:
      return pick_trig<sine>(in);
    case Functor::cos:
      return pick_trig<cosine>(in);
    case Functor::tan:
      return pick_trig<tangent>(in);
#define CASE1(name)   \
  case Functor::name: \
    return pick<name, 1>(in);
#define CASE2(name)   \
  case Functor::name: \
    return pick<name, 2>(in);
      // clang-format off
    CASE1(exp10) CASE1(expm1) CASE1(log) CASE1(log2) CASE1(log10) CASE1(log1p) CASE1(cbrt)
    CASE1(erf) CASE1(tanh) CASE1(asin) CASE1(acos) CASE1(atan) CASE1(sinh) CASE1(cosh)
    CASE1(asinh) CASE1(acosh) CASE1(atanh) CASE1(erfc) CASE1(lgamma) CASE1(tgamma) CASE1(j0)
    CASE1(j1) CASE1(y0) CASE1(y1) CASE2(atan2) CASE2(powf) CASE2(hypot)
// clang-format on
#undef CASE1
#undef CASE2
                      default : return nullptr;
  }
}

Loop find_exp_of_difference(Loop exponential) {
  if (exponential == exp_loop<exp_normal, exp>) return exp_loop<exp_normal, exp, true>;
  if (exponential == exp_loop<exp2_normal, exp2>) return exp_loop<exp2_normal, exp2, true>;
  return nullptr;
}

}  // namespace triton_runner::num::NUM_ISA
