// Holds the formulas that loops over elements (num) and over lanes (src/lanes) share. Each stands once here;
// what an instruction set or a dialect wants besides (NaNs, flushing, saturation, a division by 0) is put on
// top where its rows are.
//
// Like all of simd/ they are compiled once an instruction set, in a namespace of its name. Those on floats are written
// for a scalar or a GCC vector of lanes: a comparison is a bool or a lane mask, and `c ? x : y` selects either way.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include <triton_runner/num/enums.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// For formulas: a loop vectorises only if all of its formula is inlined.
#define NUM_INLINE inline __attribute__((always_inline))
// One copy of a function for all its callers, which is neither inlined nor made again for their constants.
#if defined(__clang__)
#define NUM_SHARED __attribute__((noinline))
#else
#define NUM_SHARED __attribute__((noinline, noclone))
#endif

#define NUM_FORMULA1(name, ...)                       \
  struct name {                                       \
    template <class T>                                \
    NUM_INLINE T operator()(T x) const {              \
      [[maybe_unused]] constexpr int bits = width<T>; \
      return static_cast<T>(__VA_ARGS__);             \
    }                                                 \
  };
#define NUM_FORMULA2(name, ...)                       \
  struct name {                                       \
    template <class T>                                \
    NUM_INLINE T operator()(T x, T y) const {         \
      [[maybe_unused]] constexpr int bits = width<T>; \
      return static_cast<T>(__VA_ARGS__);             \
    }                                                 \
  };

namespace triton_runner::num::SIMD_ISA {
namespace {

template <class T>
constexpr int width = sizeof(T) * 8;
template <class T>
constexpr bool kIsSigned = static_cast<T>(-1) < T{0};

template <class To, class From>
NUM_INLINE To bits_as(From value) {
  return __builtin_bit_cast(To, value);
}

// Unsigned integers by their size, and twice as wide integers.
struct alignas(16) Wide128 {
  uint64_t low, high;
};
template <int kBytes>
struct UintOf;
#define NUM_INTEGERS(bytes, U, S, wide_U, wide_S) \
  template <>                                     \
  struct UintOf<bytes> {                          \
    using type = U;                               \
    using as_signed = S;                          \
  };                                              \
  template <>                                     \
  struct Twice<U> {                               \
    using type = wide_U;                          \
  };                                              \
  template <>                                     \
  struct Twice<S> {                               \
    using type = wide_S;                          \
  };
template <class T>
struct Twice;
NUM_INTEGERS(1, uint8_t, int8_t, uint16_t, int16_t)
NUM_INTEGERS(2, uint16_t, int16_t, uint32_t, int32_t)
NUM_INTEGERS(4, uint32_t, int32_t, uint64_t, int64_t)
NUM_INTEGERS(8, uint64_t, int64_t, unsigned __int128, __int128)
#undef NUM_INTEGERS
template <>
struct UintOf<16> {
  using type = Wide128;
};
template <class T>
using unsign = typename UintOf<sizeof(T)>::type;
template <class T>
using sign = typename UintOf<sizeof(T)>::as_signed;
template <class T>
using twice = typename Twice<T>::type;

// Integers wrap. Narrow ones would be promoted to int, whose products may overflow: these are computed in unsigned.
template <class T, bool kInteger = std::is_integral_v<T>>
struct Wrap {
  using type = T;
};
template <class T>
struct Wrap<T, true> {
  using type = typename UintOf<(sizeof(T) < 4 ? 4 : sizeof(T))>::type;
};
template <class T>
using wrap = typename Wrap<T>::type;

// Integers and floats.
NUM_FORMULA2(add, static_cast<wrap<T>>(x) + static_cast<wrap<T>>(y))
NUM_FORMULA2(sub, static_cast<wrap<T>>(x) - static_cast<wrap<T>>(y))
NUM_FORMULA2(mul, static_cast<wrap<T>>(x) * static_cast<wrap<T>>(y))

// A comparison; of integers none is unordered.
template <uint32_t kComparison, class T>
NUM_INLINE bool holds([[maybe_unused]] T a, [[maybe_unused]] T b) {
  switch (kComparison) {
    case kCmpEq:
      return a == b;
    case kCmpNe:
      return (a < b) | (a > b);
    case kCmpLt:
      return a < b;
    case kCmpLe:
      return a <= b;
    case kCmpGt:
      return a > b;
    case kCmpGe:
      return a >= b;
    case kCmpEqu:
      return !((a < b) | (a > b));
    case kCmpNeu:
      return !(a == b);
    case kCmpLtu:
      return !(a >= b);
    case kCmpLeu:
      return !(a > b);
    case kCmpGtu:
      return !(a <= b);
    case kCmpGeu:
      return !(a < b);
    case kCmpNum:
      return (a == a) & (b == b);
    default:
      return (a != a) | (b != b);
  }
}

// Integers.
NUM_FORMULA2(and_, x& y)
NUM_FORMULA2(or_, x | y)
NUM_FORMULA2(xor_, x ^ y)
NUM_FORMULA1(not_, ~x)
NUM_FORMULA2(min, x < y ? x : y)
NUM_FORMULA2(max, x > y ? x : y)
NUM_FORMULA1(neg, wrap<T>{0} - static_cast<wrap<T>>(x))
NUM_FORMULA1(abs_int, x < 0 ? static_cast<T>(wrap<T>{0} - static_cast<wrap<T>>(x)) : x)
NUM_FORMULA2(mul_hi, (static_cast<twice<T>>(x) * y) >> bits)
// Shifts by the width or more give 0, or the sign.
struct shl {
  template <class T, class N>
  NUM_INLINE T operator()(T x, N by) const {
    constexpr N kBits = width<T>;
    return by < kBits ? static_cast<T>(static_cast<wrap<T>>(x) << (by & (kBits - 1))) : T{0};
  }
};
struct shr {
  template <class T, class N>
  NUM_INLINE T operator()(T x, N by) const {
    constexpr N kBits = width<T>;
    if (kIsSigned<T>) return static_cast<T>(x >> (by < kBits - 1 ? by : kBits - 1));
    return by < kBits ? static_cast<T>(x >> (by & (kBits - 1))) : T{0};
  }
};
// The truncated quotient, all ones of a division by 0; the smallest integer / -1 wraps. Up to 32 bits it is that of a
// float division with at least that many bits, truncated, which vectorises: the distance of an inexact quotient from
// the next integer is at least 1/divisor, far more than the rounding error.
struct div_int {
  template <class T>
  NUM_INLINE T operator()(T x, T y) const {
    const bool is_minus_one = kIsSigned<T> && y == static_cast<T>(-1);
    const T safe = y == 0 || is_minus_one ? T{1} : y;
    T quotient = truncated(x, safe);
    quotient = is_minus_one ? neg{}(x) : quotient;
    return y == 0 ? static_cast<T>(-1) : quotient;
  }

 private:
  template <class T>
  NUM_INLINE static T truncated(T x, T y) {
    if constexpr (sizeof(T) < 4)
      return static_cast<T>(static_cast<int32_t>(static_cast<float>(x) / static_cast<float>(y)));
    else if constexpr (sizeof(T) == 4)
      return static_cast<T>(static_cast<double>(x) / static_cast<double>(y));
    else
      return x / y;
  }
};
// Floats. The integer type of the same shape as a scalar or vector:
template <class V>
struct BitsOf {
  using type = decltype(V{} < V{});
};  // vectors: signed lanes of the same width
template <>
struct BitsOf<float> {
  using type = uint32_t;
};
template <>
struct BitsOf<double> {
  using type = uint64_t;
};
template <class V>
using Bits = typename BitsOf<V>::type;

template <class V>
NUM_INLINE V bits_and(V x, V y) {
  return bits_as<V>(bits_as<Bits<V>>(x) & bits_as<Bits<V>>(y));
}
template <class V>
NUM_INLINE V bits_or(V x, V y) {
  return bits_as<V>(bits_as<Bits<V>>(x) | bits_as<Bits<V>>(y));
}

#define NUM_LIBM(name)                                                   \
  NUM_INLINE float name##_of(float x) { return __builtin_##name##f(x); } \
  NUM_INLINE double name##_of(double x) { return __builtin_##name(x); }
NUM_LIBM(sqrt)
NUM_LIBM(floor)
NUM_LIBM(ceil)
NUM_LIBM(trunc)
NUM_LIBM(rint)
#undef NUM_LIBM
NUM_INLINE float copysign_of(float x, float y) { return __builtin_copysignf(x, y); }
NUM_INLINE double copysign_of(double x, double y) { return __builtin_copysign(x, y); }
NUM_INLINE float fma_of(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
NUM_INLINE double fma_of(double x, double y, double z) { return __builtin_fma(x, y, z); }

struct fma {
  template <class T>
  NUM_INLINE T operator()(T x, T y, T z) const {
    return fma_of(x, y, z);
  }
};
NUM_FORMULA2(div, x / y)
NUM_FORMULA1(rcp, T{1} / x)
NUM_FORMULA1(sqrt, sqrt_of(x))
NUM_FORMULA1(rsqrt, T{1} / sqrt_of(x))
NUM_FORMULA1(floor, floor_of(x))
NUM_FORMULA1(ceil, ceil_of(x))
NUM_FORMULA1(trunc, trunc_of(x))
NUM_FORMULA1(rint, rint_of(x))
NUM_FORMULA2(copysign, copysign_of(x, y))
NUM_FORMULA1(negf, -x)
NUM_FORMULA1(absf, bits_as<T>(bits_as<Bits<T>>(x) & (~Bits<T>{0} >> 1)))
// Equal operands differ at most in the sign of a zero: and-ing the bits gives +0 where there is one, or-ing -0.
NUM_FORMULA2(larger, x == y ? bits_and(x, y) : (x > y ? x : y))  // unordered: y
NUM_FORMULA2(smaller, x == y ? bits_or(x, y) : (x < y ? x : y))
NUM_FORMULA2(maxnumf, y != y ? x : larger{}(x, y))
NUM_FORMULA2(minnumf, y != y ? x : smaller{}(x, y))
NUM_FORMULA2(maximumf, x != x ? x : larger{}(x, y))
NUM_FORMULA2(minimumf, x != x ? x : smaller{}(x, y))

// The bits of an integer that an f64 holds, and what it lacks as a sticky one.
NUM_INLINE uint64_t odd_low(uint64_t x) {
  return x >> 53 != 0 ? (x & ~uint64_t{0x7ff}) | ((x & 0x7ff) != 0 ? 0x800 : 0) : x;
}

// An f64 as f32 rounded to odd: rounding that once more to at most 22 bits, in any direction, is as from the f64.
NUM_INLINE float to_odd(double value) {
  const float near = static_cast<float>(value);
  const double again = near;
  const bool differs = again != value && value == value;
  const bool above = __builtin_fabs(again) > __builtin_fabs(value);
  const uint32_t bits = bits_as<uint32_t>(near);
  return bits_as<float>(differs ? (bits - above) | 1 : bits);
}

// x * y + z rounded to odd, for a later rounding to a narrow type that the operands come from: where Wide holds their
// products exactly (f32 those of f16, f64 those of bf16).
template <class Wide>
struct fused_odd {
  NUM_INLINE float operator()(float x, float y, float z) const {
    const Wide p = static_cast<Wide>(x) * static_cast<Wide>(y), c = z, s = p + c, part = s - p;
    const Wide error = (p - (s - part)) + (c - part);  // exact: TwoSum
    const bool inexact = error != 0 && error == error && s - s == 0, too_far = (error < 0) != (s < 0);
    const auto bits = bits_as<Bits<Wide>>(s), odd = (bits - too_far) | 1;
    return to_odd(bits_as<Wide>(inexact ? odd : bits));
  }

 private:
  NUM_INLINE static float to_odd(float sum) { return sum; }
  NUM_INLINE static float to_odd(double sum) { return SIMD_ISA::to_odd(sum); }
};

}  // namespace
}  // namespace triton_runner::num::SIMD_ISA
