// Computes libdevice's rarer functions, one element at a time in f64 (or exact integers): the same on every
// instruction set. Those of ScalarFunction (scalar.h) are in scalar.cpp.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <triton_runner/num/elementwise.h>

#include "simd/tables.h"

namespace triton_runner::num {
namespace {

constexpr double kPi = 3.14159265358979323846, kRootPi = 1.77245385090551602730,
                 kRoot2 = 1.41421356237309504880;
constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

double sinpi(double x) {
  if (!std::isfinite(x)) return kNan;
  double r = std::remainder(x, 2.0);  // exact, [-1, 1]
  double a = std::fabs(r);
  double value = a <= 0.25  ? std::sin(kPi * a)
                 : a < 0.75 ? std::cos(kPi * (a - 0.5))
                            : std::sin(kPi * (1 - a));
  return std::copysign(value, r == 0 || a == 1 ? x : r);
}
double cospi(double x) {
  if (!std::isfinite(x)) return kNan;
  double a = std::fabs(std::remainder(x, 2.0));
  return a <= 0.25 ? std::cos(kPi * a) : a < 0.75 ? std::sin(kPi * (0.5 - a)) : -std::cos(kPi * (1 - a));
}

// The y >= 0 of erfc(y) = x, x in (0, 1]: Newton's iteration on log(erfc).
double erfc_inverse(double x) {
  if (x == 1) return 0;
  double y = x > 0.5 ? (1 - x) * kRootPi / 2 : std::sqrt(-std::log(x * 1.2));
  for (int i = 0; i < 40; ++i) {
    double value = std::erfc(y);
    double step = value * std::log(value / x) / (2 / kRootPi * std::exp(-y * y));
    y += step;
    if (std::fabs(step) <= 1e-16 * std::fabs(y)) break;
  }
  return y;
}
double erfinv(double x) {
  double a = std::fabs(x);
  if (!(a <= 1)) return kNan;
  if (a == 1) return std::copysign(kInf, x);
  if (a > 0.5) return std::copysign(erfc_inverse(1 - a), x);
  double y = a * kRootPi / 2;
  for (int i = 0; i < 6; ++i) y -= (std::erf(y) - a) / (2 / kRootPi * std::exp(-y * y));
  return std::copysign(y, x);
}
double erfcinv(double x) {
  if (!(x >= 0 && x <= 2)) return kNan;
  if (x == 0) return kInf;
  if (x == 2) return -kInf;
  if (x >= 0.5 && x <= 1.5) return erfinv(1 - x);  // 1 - x is exact
  return x <= 1 ? erfc_inverse(x) : -erfc_inverse(2 - x);
}
double erfcx(double x) {
  if (x < 25) {
    const double square = x * x, rest = std::fma(x, x, -square);
    return std::exp(square) * std::erfc(x) * (std::isfinite(square) ? 1 + rest : 1);
  }
  const double z = 1 / (x * x) / 2;  // asymptotic series
  double sum = 1;
  for (int k = 13; k > 0; k -= 2) sum = 1 - k * z * sum;
  return sum / (x * kRootPi);
}
// erfc(-x / sqrt(2)) / 2; what rounding x / sqrt(2) loses is made good to first order.
double normcdf(double x) {
  constexpr double kHigh = 0.70710678118654752440, kLow = -4.8336466567264567e-17;
  const double y = -x * kHigh, rest = std::fma(-x, kHigh, -y) - x * kLow;
  const double correction = std::isfinite(y) ? 2 / kRootPi * std::exp(-y * y) * rest : 0;
  return 0.5 * (std::erfc(y) - correction);
}
double normcdfinv(double x) { return -kRoot2 * erfcinv(2 * x); }

double bessel_i(int order, double x) {
  double a = std::fabs(x);
  if (std::isnan(x)) return x;
  double value = a > 714 ? kInf : static_cast<double>(std::cyl_bessel_il(order, a));
  return order % 2 != 0 && std::signbit(x) ? -value : value;
}

// Out = formula(A, B, B), of which it takes `arity` operands.
template <auto formula, int arity, class Out, class A, class B = A>
void loop(void* out, const void* a, const void* b, const void* c, int64_t n) {
  auto* o = static_cast<Out*>(out);
  auto* x = static_cast<const A*>(a);
  auto* y = static_cast<const B*>(b);
  auto* z = static_cast<const B*>(c);
  for (int64_t i = 0; i < n; ++i)
    o[i] = static_cast<Out>(formula(x[i], arity > 1 ? y[i] : 0, arity > 2 ? z[i] : 0));
}
// A formula of f32 and f64: in f64, rounded once, or of either type.
template <auto formula, int arity>
Loop of_float(Type in) {
  if (in == Type::kF32) return loop<formula, arity, float, float>;
  return in == Type::kF64 ? loop<formula, arity, double, double> : nullptr;
}

constexpr auto kNextAfter = [](auto x, auto y, auto) { return std::nextafter(x, y); };
constexpr auto kLdexp = [](auto x, int32_t exponent, auto) { return std::ldexp(x, exponent); };
constexpr auto kIlogb = [](auto x, auto, auto) {
  using Limits = std::numeric_limits<int32_t>;
  return x == 0 || std::isnan(x) ? Limits::min() : std::isinf(x) ? Limits::max() : std::ilogb(x);
};

// Float to integer after rounding to an integer by kRound; then as fptosi, fptoui do.
using Round = double (*)(double);
double half_away(double x) { return std::round(x); }
double half_even(double x) { return std::nearbyint(x); }
double downward(double x) { return std::floor(x); }
double upward(double x) { return std::ceil(x); }
template <Type kIn, Type kOut, bool kSigned, Round kRound>
void to_int_loop(void* out, const void* a, const void*, const void*, int64_t n) {
  auto in_size = static_cast<int64_t>(size_of(kIn)), out_size = static_cast<int64_t>(size_of(kOut));
  for (int64_t i = 0; i < n; ++i) {
    double x = kRound(to_double(load_bits(static_cast<const char*>(a) + i * in_size, kIn), kIn));
    uint64_t bits =
        kIn == Type::kF32 ? std::bit_cast<uint32_t>(static_cast<float>(x)) : std::bit_cast<uint64_t>(x);
    store_bits(static_cast<char*>(out) + i * out_size, kOut, float_to_int(bits, kIn, kOut, kSigned));
  }
}
template <bool kSigned, Round kRound>
Loop to_int(Type in, Type out) {
  if (in == Type::kF32 && out == Type::kI32) return to_int_loop<Type::kF32, Type::kI32, kSigned, kRound>;
  if (in == Type::kF32 && out == Type::kI64) return to_int_loop<Type::kF32, Type::kI64, kSigned, kRound>;
  if (in == Type::kF64 && out == Type::kI32) return to_int_loop<Type::kF64, Type::kI32, kSigned, kRound>;
  if (in == Type::kF64 && out == Type::kI64) return to_int_loop<Type::kF64, Type::kI64, kSigned, kRound>;
  return nullptr;
}

template <class T>
T reversed(T x) {
  T result = 0;
  for (size_t i = 0; i < sizeof(T) * 8; ++i) result = static_cast<T>(result << 1 | (x >> i & 1));
  return result;
}
constexpr auto kBrev64 = [](uint64_t x, auto, auto) { return reversed(x); };
constexpr auto kFfs64 = [](uint64_t x, auto, auto) { return __builtin_ffsll(static_cast<int64_t>(x)); };
// PTX's prmt: each selector nibble picks a byte of b:a, or replicates its sign.
uint32_t byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = a | static_cast<uint64_t>(b) << 32;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t nibble = selector >> (4 * i) & 0xf;
    uint32_t byte = bytes >> (8 * (nibble & 7)) & 0xff;
    result |= (nibble & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << (8 * i);
  }
  return result;
}
int64_t low24(uint32_t x) { return static_cast<int32_t>(x << 8) >> 8; }
int64_t wide(uint32_t x) { return static_cast<int32_t>(x); }

}  // namespace

Loop find_libdevice(LibdeviceFunctor functor, Type in, Type out) {
  if (in == Type::kTF32) in = out = Type::kF32;
#define FLOAT(name, arity, ...)                                                               \
  case LibdeviceFunctor::name: {                                                              \
    constexpr auto formula = []([[maybe_unused]] double x, [[maybe_unused]] double y,         \
                                [[maybe_unused]] double z) -> double { return __VA_ARGS__; }; \
    return in == out ? of_float<formula, arity>(in) : nullptr;                                \
  }
#define INT(name, arity, ...)                                                                  \
  case LibdeviceFunctor::name: {                                                               \
    constexpr auto formula = []([[maybe_unused]] uint32_t x, [[maybe_unused]] uint32_t y,      \
                                [[maybe_unused]] uint32_t z) { return __VA_ARGS__; };          \
    return in == Type::kI32 && out == in ? loop<formula, arity, uint32_t, uint32_t> : nullptr; \
  }
  if (in == Type::kI64 && functor == LibdeviceFunctor::brev)
    return out == in ? loop<kBrev64, 1, uint64_t, uint64_t> : nullptr;
  if (in == Type::kI64 && functor == LibdeviceFunctor::ffs)
    return out == Type::kI32 ? loop<kFfs64, 1, int32_t, uint64_t> : nullptr;
  switch (functor) {
    FLOAT(rcp, 1, 1 / x)
    FLOAT(sinpi, 1, sinpi(x))
    FLOAT(cospi, 1, cospi(x))
    FLOAT(rcbrt, 1, 1 / std::cbrt(x))
    FLOAT(rhypot, 2, 1 / std::hypot(x, y))
    FLOAT(norm3d, 3, std::hypot(x, y, z))
    FLOAT(rnorm3d, 3, 1 / std::hypot(x, y, z))
    FLOAT(erfinv, 1, erfinv(x))
    FLOAT(erfcinv, 1, erfcinv(x))
    FLOAT(erfcx, 1, erfcx(x))
    FLOAT(normcdf, 1, normcdf(x))
    FLOAT(normcdfinv, 1, normcdfinv(x))
    FLOAT(cyl_bessel_i0, 1, bessel_i(0, x))
    FLOAT(cyl_bessel_i1, 1, bessel_i(1, x))
    FLOAT(remainder, 2, std::remainder(x, y))
    FLOAT(fdim, 2, std::fdim(x, y))
    FLOAT(saturate, 1, x > 0 ? std::min(x, 1.0) : 0.0)
    FLOAT(logb, 1, std::logb(x))
    INT(brev, 1, reversed(x))
    INT(ffs, 1, __builtin_ffs(static_cast<int>(x)))
    INT(byte_perm, 3, byte_perm(x, y, z))
    INT(mul24, 2, low24(x) * low24(y))
    INT(umul24, 2, static_cast<uint64_t>(x & 0xffffff) * (y & 0xffffff))
    INT(hadd, 2, (wide(x) + wide(y)) >> 1)
    INT(rhadd, 2, (wide(x) + wide(y) + 1) >> 1)
    INT(uhadd, 2, (static_cast<uint64_t>(x) + y) >> 1)
    INT(urhadd, 2, (static_cast<uint64_t>(x) + y + 1) >> 1)
    INT(sad, 3, std::abs(wide(x) - wide(y)) + z)
    INT(usad, 3, (x > y ? x - y : y - x) + z)
    case LibdeviceFunctor::nextafter:
      return in == out ? of_float<kNextAfter, 2>(in) : nullptr;
    case LibdeviceFunctor::ldexp:
      if (in != out) return nullptr;
      if (in == Type::kF32) return loop<kLdexp, 2, float, float, int32_t>;
      return in == Type::kF64 ? loop<kLdexp, 2, double, double, int32_t> : nullptr;
    case LibdeviceFunctor::ilogb:
      if (out != Type::kI32) return nullptr;
      if (in == Type::kF32) return loop<kIlogb, 1, int32_t, float>;
      return in == Type::kF64 ? loop<kIlogb, 1, int32_t, double> : nullptr;
    case LibdeviceFunctor::fptosi_rn:
      return to_int<true, half_even>(in, out);
    case LibdeviceFunctor::fptosi_rd:
      return to_int<true, downward>(in, out);
    case LibdeviceFunctor::fptosi_ru:
      return to_int<true, upward>(in, out);
    case LibdeviceFunctor::fptosi_round:
      return to_int<true, half_away>(in, out);
    case LibdeviceFunctor::fptoui_rn:
      return to_int<false, half_even>(in, out);
    case LibdeviceFunctor::fptoui_rd:
      return to_int<false, downward>(in, out);
    case LibdeviceFunctor::fptoui_ru:
      return to_int<false, upward>(in, out);
  }
#undef FLOAT
#undef INT
  return nullptr;
}

}  // namespace triton_runner::num
