// Has loops over the math functions. exp, exp2, log and log2 of f32 have kernels of their own; the other f32
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

namespace triton_runner::num::SIMD_ISA {
namespace {

inline double lgamma_of(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// A formula in f64, for f64 and, rounded, for f32.
#define MATH1(name, ...)                                                 \
  struct name {                                                          \
    NUM_INLINE double operator()(double x) const { return __VA_ARGS__; } \
    NUM_INLINE float operator()(float value) const {                     \
      return static_cast<float>((*this)(static_cast<double>(value)));    \
    }                                                                    \
  };
#define MATH2(name, ...)                                                                  \
  struct name {                                                                           \
    NUM_INLINE double operator()(double x, double y) const { return __VA_ARGS__; }        \
    NUM_INLINE float operator()(float x, float y) const {                                 \
      return static_cast<float>((*this)(static_cast<double>(x), static_cast<double>(y))); \
    }                                                                                     \
  };
#define MATH1_BOTH(name)                                                   \
  struct name {                                                            \
    NUM_INLINE double operator()(double x) const { return name##_f64(x); } \
    NUM_INLINE float operator()(float x) const { return name##_f32(x); }   \
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
  NUM_INLINE double operator()(double x) const { return ::erf(x); }
  NUM_INLINE float operator()(float x) const { return static_cast<float>(erf_for_f32(x)); }
};

// sin, cos and tan (F): the vector formula, then element by element those beyond its reduction.
template <class T, class F>
void trig_loop(void* out, const void* a, const void*, const void*, int64_t n) {
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
}

// exp and exp2 of f32, and those of a - b, where b may be one element for all.
enum class Of { kOne, kDifference, kDifferenceFromOne };

#if defined(SIMD_ISA_avx512)
// The general formulas: an instruction multiplies by the power of two, and rounds once as they do. It is slow
// where that gives a subnormal number or nothing: masked scores are -inf, whose powers are plainly 0.
template <int n>
NUM_INLINE __m512 horner(__m512 x, const float (&coefficient)[n]) {
  __m512 sum = _mm512_set1_ps(coefficient[n - 1]);
#pragma GCC unroll 8
  for (int i = n - 2; i >= 0; --i) sum = _mm512_fmadd_ps(sum, x, _mm512_set1_ps(coefficient[i]));
  return sum;
}
NUM_INLINE __mmask16 not_below(__m512 x, float low) {
  return _mm512_cmp_ps_mask(x, _mm512_set1_ps(low), _CMP_NLT_UQ);
}
NUM_INLINE __m512 at_most(__m512 x, float high) {  // NaN stays
  return _mm512_min_ps(_mm512_set1_ps(high), x);
}
struct exp_vector {
  NUM_INLINE __m512 operator()(__m512 x) const {
    const __mmask16 on = not_below(x, -110.0f);
    x = at_most(x, 90.0f);
    const __m512 n = (x * 0x1.715476p+0f + 12582912.0f) - 12582912.0f;
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.62e400p-1f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.7f7d1cp-20f), r);
    const __m512 p = _mm512_fmadd_ps(r * r, horner(r, k_exp_f32), r);
    return _mm512_maskz_scalef_ps(on, p + 1.0f, n);
  }
};
struct exp2_vector {
  NUM_INLINE __m512 operator()(__m512 x) const {
    const __mmask16 on = not_below(x, -160.0f);
    x = at_most(x, 130.0f);
    const __m512 n = (x + 12582912.0f) - 12582912.0f, r = x - n;
    return _mm512_maskz_scalef_ps(on, _mm512_fmadd_ps(r, horner(r, k_exp2_f32), _mm512_set1_ps(1.0f)), n);
  }
};
template <class F, Of of>
void exp_loop(void* out, const void* a, const void* b, const void*, int64_t n) {
  auto* o = static_cast<float*>(out);
  auto* x = static_cast<const float*>(a);
  auto* y = static_cast<const float*>(b);
  const __m512 one = _mm512_set1_ps(of == Of::kDifferenceFromOne ? *y : 0.0f);
  auto of_vector = [&](__m512 value, __m512 less) __attribute__((always_inline)) {
    if (of == Of::kDifference) value -= less;
    if (of == Of::kDifferenceFromOne) value -= one;
    return F{}(value);
  };
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(o + i,
                     of_vector(_mm512_loadu_ps(x + i), of == Of::kDifference ? _mm512_loadu_ps(y + i) : one));
  if (i < n) {
    const auto on = static_cast<__mmask16>((1 << (n - i)) - 1);
    const __m512 less = of == Of::kDifference ? _mm512_maskz_loadu_ps(on, y + i) : one;
    _mm512_mask_storeu_ps(o + i, on, of_vector(_mm512_maskz_loadu_ps(on, x + i), less));
  }
}
#else
// Stretches whose results are all normal or plainly 0 (masked scores are -inf) take the shorter formula.
struct exp_normal {
  using General = exp;
  static constexpr float kZero = -110.0f, kLow = kExpLow, kHigh = kExpHigh;
  NUM_INLINE float operator()(float x) const { return exp_f32_normal(x); }
};
struct exp2_normal {
  using General = exp2;
  static constexpr float kZero = -160.0f, kLow = kExp2Low, kHigh = kExp2High;
  NUM_INLINE float operator()(float x) const { return exp2_f32_normal(x); }
};
template <class Normal>
__attribute__((noinline)) void exp_of_kept(float* o, const float* kept, int64_t n) {
  int32_t outside = 0;
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) {
    const float value = kept[j], power = Normal{}(value);
    outside |= !(((value > Normal::kLow) & (value < Normal::kHigh)) | (value < Normal::kZero));
    o[j] = value < Normal::kZero ? 0.0f : power;
  }
  if (outside) map<1, float, float, typename Normal::General>(o, kept, nullptr, nullptr, n);
}

#if defined(SIMD_ISA_avx2)
// The normal formulas on a vector, operation by operation. Magnitudes below kNear give normal results.
template <int n>
NUM_INLINE __m256 horner(__m256 x, const float (&coefficient)[n]) {
  __m256 sum = _mm256_set1_ps(coefficient[n - 1]);
#pragma GCC unroll 8
  for (int i = n - 2; i >= 0; --i) sum = _mm256_fmadd_ps(sum, x, _mm256_set1_ps(coefficient[i]));
  return sum;
}
NUM_INLINE __m256 times_power(__m256 p, __m256 shifted) {
  const __m256i power = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), power));
}
struct exp_vector {
  using Normal = exp_normal;
  static constexpr float kNear = 87.0f;
  NUM_INLINE __m256 operator()(__m256 x) const {
    const __m256 shifted = x * 0x1.715476p+0f + 12582912.0f, n = shifted - 12582912.0f;
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.62e400p-1f), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.7f7d1cp-20f), r);
    return times_power(_mm256_fmadd_ps(r * r, horner(r, k_exp_f32), r) + 1.0f, shifted);
  }
};
struct exp2_vector {
  using Normal = exp2_normal;
  static constexpr float kNear = 125.0f;
  NUM_INLINE __m256 operator()(__m256 x) const {
    const __m256 shifted = x + 12582912.0f, r = x - (shifted - 12582912.0f);
    return times_power(_mm256_fmadd_ps(r, horner(r, k_exp2_f32), _mm256_set1_ps(1.0f)), shifted);
  }
};
template <class F, Of of>
void exp_loop(void* out, const void* a, const void* b, const void*, int64_t n) {
  auto* o = static_cast<float*>(out);
  auto* x = static_cast<const float*>(a);
  auto* y = static_cast<const float*>(b);
  constexpr int kVectors = 4, kBlock = 8 * kVectors;
  const float one = of == Of::kDifferenceFromOne ? *y : 0.0f;
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    __m256 v[kVectors];
    __m256i largest{};
#pragma GCC unroll 8
    for (int k = 0; k < kVectors; ++k) {
      v[k] = _mm256_loadu_ps(x + i + 8 * k);
      if (of == Of::kDifference) v[k] -= _mm256_loadu_ps(y + i + 8 * k);
      if (of == Of::kDifferenceFromOne) v[k] -= one;
      largest = _mm256_max_epu32(largest, _mm256_and_si256(_mm256_castps_si256(v[k]), magnitude));
    }
    const __m256 near = _mm256_set1_ps(F::kNear);
    if (_mm256_movemask_ps(_mm256_cmp_ps(_mm256_castsi256_ps(largest), near, _CMP_NLT_UQ))) [[unlikely]] {
      alignas(32) float kept[kBlock];
#pragma GCC unroll 8
      for (int k = 0; k < kVectors; ++k) _mm256_store_ps(kept + 8 * k, v[k]);
      exp_of_kept<typename F::Normal>(o + i, kept, kBlock);
      continue;
    }
#pragma GCC unroll 8
    for (int k = 0; k < kVectors; ++k) _mm256_storeu_ps(o + i + 8 * k, F{}(v[k]));
  }
  if (i == n) return;
  float kept[kBlock];
  for (int64_t j = 0; j < n - i; ++j)
    kept[j] = of == Of::kOne ? x[i + j] : x[i + j] - (of == Of::kDifference ? y[i + j] : one);
  exp_of_kept<typename F::Normal>(o + i, kept, n - i);
}
#else
using exp_vector = exp_normal;
using exp2_vector = exp2_normal;
template <class F, Of of>
void exp_loop(void* out, const void* a, const void* b, const void*, int64_t n) {
  auto* o = static_cast<float*>(out);
  auto* x = static_cast<const float*>(a);
  auto* y = static_cast<const float*>(b);
  const float one = of == Of::kDifferenceFromOne ? *y : 0.0f;
  float kept[kChunk];  // out may be a
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = n - i < kChunk ? n - i : kChunk;
    for (int64_t j = 0; j < m; ++j)
      kept[j] = of == Of::kOne ? x[i + j] : x[i + j] - (of == Of::kDifference ? y[i + j] : one);
    exp_of_kept<F>(o + i, kept, m);
  }
}
#endif
#endif
template <Of of>
constexpr Loop exp_f32_loop = exp_loop<exp_vector, of>;
template <Of of>
constexpr Loop exp2_f32_loop = exp_loop<exp2_vector, of>;

template <class F>
Loop pick_trig(Type in) {
  return float_loop<trig_loop<float, F>, trig_loop<double, F>, 1>(in);
}

}  // namespace

Loop find_math(MathFunctor functor, Type in, Type out) {
  if (in != out) return nullptr;
  switch (functor) {
    case MathFunctor::exp:
      return float_loop<exp_f32_loop<Of::kOne>, map<1, double, double, exp>, 1>(in);
    case MathFunctor::exp2:
      return float_loop<exp2_f32_loop<Of::kOne>, map<1, double, double, exp2>, 1>(in);
    case MathFunctor::sin:
      return pick_trig<sine>(in);
    case MathFunctor::cos:
      return pick_trig<cosine>(in);
    case MathFunctor::tan:
      return pick_trig<tangent>(in);
#define CASE(name, arity) \
  case MathFunctor::name: \
    return float_loop_of<arity, name>(in);
      // clang-format off
    CASE(exp10, 1) CASE(expm1, 1) CASE(log, 1) CASE(log2, 1) CASE(log10, 1) CASE(log1p, 1) CASE(cbrt, 1)
    CASE(erf, 1) CASE(tanh, 1) CASE(asin, 1) CASE(acos, 1) CASE(atan, 1) CASE(sinh, 1) CASE(cosh, 1)
    CASE(asinh, 1) CASE(acosh, 1) CASE(atanh, 1) CASE(erfc, 1) CASE(lgamma, 1) CASE(tgamma, 1) CASE(j0, 1)
    CASE(j1, 1) CASE(y0, 1) CASE(y1, 1) CASE(atan2, 2) CASE(powf, 2) CASE(hypot, 2)
      // clang-format on
#undef CASE
  }
  return nullptr;
}

Loop find_exp_of_difference(Loop exponential) {
  if (exponential == exp_f32_loop<Of::kOne>) return exp_f32_loop<Of::kDifference>;
  if (exponential == exp2_f32_loop<Of::kOne>) return exp2_f32_loop<Of::kDifference>;
  return nullptr;
}

Loop find_exp_by_one(Loop exponential_of_difference) {
  if (exponential_of_difference == exp_f32_loop<Of::kDifference>) return exp_f32_loop<Of::kDifferenceFromOne>;
  if (exponential_of_difference == exp2_f32_loop<Of::kDifference>)
    return exp2_f32_loop<Of::kDifferenceFromOne>;
  return nullptr;
}

}  // namespace triton_runner::num::SIMD_ISA
