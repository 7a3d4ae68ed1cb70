// Computes math functions in f64 (and the four hot ones in f32) out of correctly rounded basic operations and
// fma only, so that every instruction set gives the same bits. There are no branches: special cases are
// selects, so that loops vectorise. math_loops.cpp applies them to tiles.
#pragma once
#include "simd/coefficients.h"
#include "simd/common.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

NUM_INLINE double absolute(double x) { return __builtin_fabs(x); }
NUM_INLINE double with_sign(double x, double of) { return __builtin_copysign(x, of); }
constexpr double kInf = __builtin_inf(), kNan = __builtin_nan("");

template <class T, int n>
NUM_INLINE T horner(T x, const T (&coefficient)[n]) {
  T sum = coefficient[n - 1];
#pragma GCC unroll 32
  for (int i = n - 2; i >= 0; --i) sum = fma_of(sum, x, coefficient[i]);
  return sum;
}

// x to the nearest integer as a float and as an integer, for |x| < 2^51 (f32: 2^22).
template <class T>
struct Rounded {
  T value;
  sign<T> integer;
};
template <class T>
NUM_INLINE Rounded<T> nearest(T x) {
  constexpr T kMagic = sizeof(T) == 4 ? T{12582912} : static_cast<T>(6755399441055744);
  T shifted = x + kMagic;
  return {shifted - kMagic, static_cast<sign<T>>(bits_as<Bits<T>>(shifted) - bits_as<Bits<T>>(kMagic))};
}

// x * 2^k in two steps, each a power of two in range, so that only the last one rounds.
template <class T>
NUM_INLINE T scaled(T x, sign<T> k) {
  constexpr int kBias = sizeof(T) == 4 ? 127 : 1023, kMantissa = sizeof(T) == 4 ? 23 : 52;
  sign<T> half = k >> 1;
  T a = bits_as<T>(static_cast<Bits<T>>(half + kBias) << kMantissa);
  T b = bits_as<T>(static_cast<Bits<T>>(k - half + kBias) << kMantissa);
  return x * a * b;
}
template <class T>
NUM_INLINE T clamped(T x, T low, T high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}  // NaN stays

// exp family

// For arguments whose result is normal: 2^n is added to the exponent. The same bits as the general formulas.
constexpr float kExp2Low = -125.0f, kExp2High = 127.0f, kExpLow = -87.0f, kExpHigh = 88.0f;
NUM_INLINE float times_power(float p, float shifted) {  // shifted: n + 1.5 * 2^23
  return bits_as<float>(bits_as<uint32_t>(p) + (bits_as<uint32_t>(shifted) << 23));
}
NUM_INLINE float exp2_f32_normal(float x) {
  float shifted = x + 12582912.0f, r = x - (shifted - 12582912.0f);
  return times_power(fma_of(r, horner(r, k_exp2_f32), 1.0f), shifted);
}
NUM_INLINE float exp_f32_normal(float x) {
  float shifted = x * 0x1.715476p+0f + 12582912.0f, n = shifted - 12582912.0f;
  float r = fma_of(-n, 0x1.7f7d1cp-20f, fma_of(-n, 0x1.62e400p-1f, x));
  return times_power(fma_of(r * r, horner(r, k_exp_f32), r) + 1.0f, shifted);
}
NUM_INLINE float exp2_f32(float x) {
  x = clamped(x, -160.0f, 130.0f);
  Rounded<float> n = nearest(x);
  float r = x - n.value;
  return scaled(fma_of(r, horner(r, k_exp2_f32), 1.0f), n.integer);
}
NUM_INLINE float exp_f32(float x) {
  x = clamped(x, -110.0f, 90.0f);
  Rounded<float> n = nearest(x * 0x1.715476p+0f);
  float r = fma_of(-n.value, 0x1.62e400p-1f, x);  // ln 2 in two parts: the first product is exact
  r = fma_of(-n.value, 0x1.7f7d1cp-20f, r);
  float p = fma_of(r * r, horner(r, k_exp_f32), r);
  return scaled(p + 1.0f, n.integer);
}
NUM_INLINE double exp2_f64(double x) {
  x = clamped(x, -1100.0, 1030.0);
  Rounded<double> n = nearest(x);
  double r = x - n.value;
  return scaled(fma_of(r, horner(r, k_exp2_f64), 1.0), n.integer);
}
// e^x = 2^n (1 + p): p and n.
struct ExpParts {
  double p;
  Rounded<double> n;
};
NUM_INLINE ExpParts exp_parts(double x) {
  Rounded<double> n = nearest(x * 0x1.71547652b82fep+0);
  double r = fma_of(-n.value, 0x1.62e42fefa3800p-1, x);
  r = fma_of(-n.value, 0x1.ef35793c76730p-45, r);
  return {fma_of(r * r, horner(r, k_exp_f64), r), n};
}
NUM_INLINE double exp_f64(double x) {
  ExpParts e = exp_parts(clamped(x, -750.0, 712.0));
  return scaled(e.p + 1.0, e.n.integer);
}
NUM_INLINE double exp10_f64(double x) {  // x log2(10) in two parts
  x = clamped(x, -330.0, 310.0);
  double high = x * 0x1.a934f0979a371p+1;
  double low = fma_of(x, 0x1.a934f0979a371p+1, -high) + x * 0x1.7f2495fb7fa6dp-53;
  Rounded<double> n = nearest(high);
  double r = (high - n.value) + low;
  return scaled(fma_of(r, horner(r, k_exp2_f64), 1.0), n.integer);
}
NUM_INLINE double expm1_f64(double x) {
  double limited = clamped(x, -60.0, 710.0);
  ExpParts e = exp_parts(limited);
  // 2^n (1 + p) - 1 = 2^n p + (2^n - 1), with 2^(n-1) doubled afterwards: 2^1024 is no number.
  int64_t m = e.n.integer - 1;
  double half = bits_as<double>(static_cast<uint64_t>(m + 1023) << 52);
  double result = fma_of(half, e.p, half - 0.5) * 2.0;
  return absolute(x) < 0x1p-54 ? x : result;
}

// log family

// x = 2^e (1 + f), f in [-1/3, 1/3], for positive finite x.
struct LogParts {
  double e, f;
};
NUM_INLINE LogParts log_parts(double x) {
  bool tiny = x < 0x1p-1022;
  x = tiny ? x * 0x1p54 : x;
  constexpr uint64_t kTwoThirds = 0x3fe5555555555555;
  uint64_t bits = bits_as<uint64_t>(x);
  int64_t e = static_cast<int64_t>(bits - kTwoThirds) >> 52;
  double f = bits_as<double>(bits - (static_cast<uint64_t>(e) << 52)) - 1.0;
  constexpr int64_t kMagic = 0x4338000000000000;  // 1.5 * 2^52: an integer in its last bits
  double exponent = bits_as<double>(e + kMagic) - 6755399441055744.0;
  return {exponent - (tiny ? 54.0 : 0.0), f};
}
// log(1 + f) = f + rest
NUM_INLINE double log_rest(double f) {
  double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
  return s * fma_of(z, horner(z, k_log_f64), h) - h;
}
// The sum of a larger and a smaller part and a small rest, with the larger sum's error put back.
template <class T>
NUM_INLINE T sum_of(T large, T small, T rest) {
  T sum = large + small;
  T error = small - (sum - large);
  return sum + (error + rest);
}
template <class T>
NUM_INLINE T log_special(T x, T result) {
  constexpr T kInfinite = static_cast<T>(kInf);
  result = x == 0 ? -kInfinite : result;
  result = x < 0 ? static_cast<T>(kNan) : result;
  return x == kInfinite || x != x ? x : result;
}
NUM_INLINE double log_plus(double x, double correction) {  // log(x) + correction, which is far smaller
  LogParts p = log_parts(x);
  double rest = log_rest(p.f) + fma_of(p.e, 0x1.ef35793c76730p-45, correction);
  return sum_of(p.e * 0x1.62e42fefa3800p-1, p.f, rest);
}
NUM_INLINE double log_f64(double x) { return log_special(x, log_plus(x, 0.0)); }
NUM_INLINE double log_to_base(double x, double high, double low, double base_high, double base_low) {
  LogParts p = log_parts(x);
  double main = p.f * high;
  double error = fma_of(p.f, high, -main) + p.f * low;
  double rest = fma_of(log_rest(p.f), high, error) + p.e * base_low;
  return log_special(x, sum_of(p.e * base_high, main, rest));
}
NUM_INLINE double log2_f64(double x) {
  return log_to_base(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1.0, 0.0);
}
NUM_INLINE double log10_f64(double x) {
  return log_to_base(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f7800p-2,
                     0x1.fef311f12b358p-46);
}
NUM_INLINE double log1p_f64(double x) {
  double u = 1.0 + x;
  double lost = absolute(x) < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
  double result = log_plus(u, lost / u);
  result = absolute(x) < 0x1p-54 ? x : result;
  result = x == -1.0 ? -kInf : result;
  result = x < -1.0 ? kNan : result;
  return x == kInf || x != x ? x : result;
}

struct LogPartsF32 {
  float e, f;
};
NUM_INLINE LogPartsF32 log_parts(float x) {
  bool tiny = x < 0x1p-126f;
  x = tiny ? x * 0x1p23f : x;
  constexpr uint32_t kTwoThirds = 0x3f2aaaab;
  uint32_t bits = bits_as<uint32_t>(x);
  int32_t e = static_cast<int32_t>(bits - kTwoThirds) >> 23;
  float f = bits_as<float>(bits - (static_cast<uint32_t>(e) << 23)) - 1.0f;
  return {static_cast<float>(e) - (tiny ? 23.0f : 0.0f), f};
}
NUM_INLINE float log_rest(float f) {
  float z = f * f;
  return fma_of(z * f, horner(f, k_log_f32), -0.5f * z);
}
NUM_INLINE float log_f32(float x) {
  LogPartsF32 p = log_parts(x);
  float rest = fma_of(p.e, 0x1.7f7d1cp-20f, log_rest(p.f));
  return log_special(x, sum_of(p.e * 0x1.62e400p-1f, p.f, rest));
}
NUM_INLINE float log2_f32(float x) {
  LogPartsF32 p = log_parts(x);
  float main = p.f * 0x1.715476p+0f;
  float error = fma_of(p.f, 0x1.715476p+0f, -main) + p.f * 0x1.4ae0c0p-26f;
  return log_special(x, sum_of(p.e, main, fma_of(log_rest(p.f), 0x1.715476p+0f, error)));
}

// Trigonometry

// x = n pi/2 + high + low, |high| <= pi/4, good to f64 precision for |x| <= kTrigLimit.
constexpr double kTrigLimit = 0x1p30;
struct Reduced {
  double high, low;
  int64_t n;
};
NUM_INLINE Reduced reduced(double x) {
  Rounded<double> n = nearest(x * 0x1.45f306dc9c883p-1);
  double r = fma_of(-n.value, 0x1.921fb54442d18p+0, x);  // exact
  double p = n.value * 0x1.1a62633145c07p-54;
  double p_error = fma_of(n.value, 0x1.1a62633145c07p-54, -p);
  double high = r - p, back = high - r;
  double error = (r - (high - back)) - (p + back);
  double low = error - p_error - n.value * -0x1.f1976b7ed8fbcp-110;
  double sum = high + low;
  return {sum, low - (sum - high), n.integer};
}
NUM_INLINE double sin_near(Reduced r) {
  double z = r.high * r.high;
  double rest = fma_of(z * r.high, horner(z, k_sin_f64), r.low * fma_of(-0.5, z, 1.0));
  return r.high + rest;
}
NUM_INLINE double cos_near(Reduced r) {
  double z = r.high * r.high, h = 0.5 * z, w = 1.0 - h;
  return w + (((1.0 - w) - h) + fma_of(z * z, horner(z, k_cos_f64), -r.high * r.low));
}
NUM_INLINE double turned(int64_t quarter, double sine, double cosine) {
  double value = quarter & 1 ? cosine : sine;
  return quarter & 2 ? -value : value;
}
// The same for f32 results: 2^-40 is precise enough, and the quotient pi/2 in two parts is.
NUM_INLINE Reduced reduced(float x) {
  Rounded<double> n = nearest(x * 0x1.45f306dc9c883p-1);
  double r = fma_of(-n.value, 0x1.921fb54442d18p+0, static_cast<double>(x));
  return {fma_of(-n.value, 0x1.1a62633145c07p-54, r), 0, n.integer};
}
NUM_INLINE double sin_near_f32(Reduced r) {
  double z = r.high * r.high;
  return fma_of(z * r.high, horner(z, k_sin_near_f32), r.high);
}
NUM_INLINE double cos_near_f32(Reduced r) {
  double z = r.high * r.high;
  return fma_of(z, horner(z, k_cos_near_f32), 1.0);
}

// The functions of a reduced angle, for f64 and for f32 results.
struct sine {
  static constexpr bool kOdd = true;  // f(x) is x for tiny x
  static NUM_INLINE double of(Reduced r) { return turned(r.n, sin_near(r), cos_near(r)); }
  static NUM_INLINE double of_f32(Reduced r) { return turned(r.n, sin_near_f32(r), cos_near_f32(r)); }
};
struct cosine {
  static constexpr bool kOdd = false;
  static NUM_INLINE double of(Reduced r) { return turned(r.n + 1, sin_near(r), cos_near(r)); }
  static NUM_INLINE double of_f32(Reduced r) { return turned(r.n + 1, sin_near_f32(r), cos_near_f32(r)); }
};
struct tangent {
  static constexpr bool kOdd = true;
  static NUM_INLINE double of(Reduced r) {
    double s = sin_near(r), c = cos_near(r);
    return r.n & 1 ? -c / s : s / c;
  }
  static NUM_INLINE double of_f32(Reduced r) {
    double s = sin_near_f32(r), c = cos_near_f32(r);
    return r.n & 1 ? -c / s : s / c;
  }
};

NUM_INLINE double atan_f64(double x) {
  double a = absolute(x);
  bool large = a > 2.414213562373095, middle = a > 0.4142135623730951;
  double numerator = large ? -1.0 : middle ? a - 1.0 : a, denominator = large ? a : middle ? a + 1.0 : 1.0;
  double argument = numerator / denominator;
  // The loss of the roundings of a - 1, a + 1 and the quotient, to first order.
  double numerator_error = middle && !large ? (a - (numerator + 1.0)) : 0.0;
  double denominator_error = middle && !large ? a - (denominator - 1.0) : 0.0;
  double lost =
      (fma_of(-argument, denominator, numerator) + (numerator_error - argument * denominator_error)) /
      denominator;
  lost = a == kInf ? 0.0 : lost;
  double base = large ? 0x1.921fb54442d18p+0 : middle ? 0x1.921fb54442d18p-1 : 0.0;
  double base_low = large ? 0x1.1a62633145c07p-54 : middle ? 0x1.1a62633145c07p-55 : 0.0;
  double z = argument * argument;
  double rest = fma_of(z * argument, horner(z, k_atan_f64), base_low + lost);
  return with_sign(base + (argument + rest), x);
}
// asin and acos from |x| <= 1/2 directly, else from s = sqrt((1 - |x|) / 2) = high + low.
struct HalfAngle {
  double angle, low;
};  // asin(s) = angle + low
NUM_INLINE HalfAngle half_angle(double a) {
  double z = (1.0 - a) * 0.5, s = sqrt_of(z);
  double error = s > 0.0 ? fma_of(-s, s, z) / (s + s) : 0.0;
  return {s, fma_of(z * s, horner(z, k_asin_f64), error)};
}
NUM_INLINE double asin_near(double x) {
  double z = x * x;
  return fma_of(z * x, horner(z, k_asin_f64), x);
}
NUM_INLINE double asin_f64(double x) {
  double a = absolute(x);
  HalfAngle h = half_angle(a);
  double far = 0x1.921fb54442d18p-1 - h.angle;  // pi/4 - s, twice: pi/2 - 2 asin(s)
  double far_error = (0x1.921fb54442d18p-1 - far) - h.angle;
  double outer = 2.0 * (far + (far_error + (0x1.1a62633145c07p-55 - h.low)));
  double result = a > 0.5 ? with_sign(outer, x) : asin_near(x);
  return a > 1.0 ? kNan : result;
}
NUM_INLINE double acos_f64(double x) {
  double a = absolute(x);
  HalfAngle h = half_angle(a);
  double outer = 2.0 * (h.angle + h.low);
  double negative = 2.0 * (0x1.921fb54442d18p+0 - (h.angle + (h.low - 0x1.1a62633145c07p-54)));
  double z = x * x;
  double small =
      fma_of(z * x, horner(z, k_asin_f64), -0x1.1a62633145c07p-54);  // asin(x) - x, less pi/2's low part
  double inner = 0x1.921fb54442d18p+0 - (x + small);
  double result = a <= 0.5 ? inner : x > 0.0 ? outer : negative;
  return a > 1.0 ? kNan : result;
}

// Hyperbolic

NUM_INLINE double tanh_f64(double x) {
  double a = absolute(x);
  double m = expm1_f64(2.0 * (a > 22.0 ? 22.0 : a));
  double result = m / (m + 2.0);
  return x != x ? x : with_sign(result, x);
}
NUM_INLINE double sinh_f64(double x) {
  double a = absolute(x);
  double m = expm1_f64(a > 709.0 ? 709.0 : a);
  double near = 0.5 * (m + m / (m + 1.0));
  double root = exp_f64(0.5 * a), far = 0.5 * root * root;
  return x != x ? x : with_sign(a > 709.0 ? far : near, x);
}
NUM_INLINE double cosh_f64(double x) {
  double a = absolute(x);
  double e = exp_f64(a > 709.0 ? 709.0 : a), near = 0.5 * e + 0.5 / e;
  double root = exp_f64(0.5 * a), far = 0.5 * root * root;
  return a > 709.0 ? far : near;
}
NUM_INLINE double asinh_f64(double x) {
  double a = absolute(x);
  double near = log1p_f64(a + a * a / (1.0 + sqrt_of(fma_of(a, a, 1.0))));
  double far = log_f64(a) + 0x1.62e42fefa39efp-1;
  return x != x ? x : with_sign(a > 0x1p28 ? far : near, x);
}
NUM_INLINE double acosh_f64(double x) {
  double t = x - 1.0;
  double near = log1p_f64(t + sqrt_of(fma_of(t, t, 2.0 * t)));
  double far = log_f64(x) + 0x1.62e42fefa39efp-1;
  return x > 0x1p28 ? far : near;
}
NUM_INLINE double atanh_f64(double x) {
  double a = absolute(x);
  double result = 0.5 * log1p_f64(2.0 * a / (1.0 - a));
  result = a == 1.0 ? kInf : a > 1.0 ? kNan : result;
  return x != x ? x : with_sign(result, x);
}

// Others

NUM_INLINE double cbrt_f64(double x) {
  double a = absolute(x);
  bool tiny = a < 0x1p-1022;
  bool huge = a > 0x1p1000;  // the iteration adds up to three cubes
  double y = tiny ? a * 0x1p54 : huge ? a * 0x1p-54 : a;
  // A third of the exponent, then Halley's iteration, which triples the digits: 5 -> 15 -> 45 -> all.
  double t = bits_as<double>(bits_as<uint64_t>(y) / 3 + 0x2a9f7893782da1ce);
#pragma GCC unroll 3
  for (int i = 0; i < 3; ++i) {
    double cube = t * t * t;
    t = t - t * ((cube - y) / (cube + cube + y));
  }
  t = tiny ? t * 0x1p-18 : huge ? t * 0x1p18 : t;
  return x == 0.0 || a == kInf || x != x ? x : with_sign(t, x);
}
// erf to f32's needs, in f64: relative error below 2^-35.
NUM_INLINE double erf_for_f32(double x) {
  double a = absolute(x);
  double near = a * horner(a * a, k_erf_near);
  double t = (a > 4.0 ? 4.0 : a) - 2.5;
  double far = a > 4.0 ? 1.0 : horner(t, k_erf_far);
  return x != x ? x : with_sign(a < 1.0 ? near : far, x);
}

}  // namespace
}  // namespace triton_runner::num::SIMD_ISA
