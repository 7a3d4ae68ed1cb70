// Float arithmetic: IEEE, each op rounded once to its type. f16, bf16 and fp8 are
// computed in f32 and rounded, which for + - * / and sqrt is the correctly rounded
// result (f32 has more than twice their precision); fma rounds to odd on the way.
#include "simd/float_ops.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

inline float fused(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fused(double x, double y, double z) { return __builtin_fma(x, y, z); }
#define LIBM(name)                                                   \
  inline float name##_of(float x) { return __builtin_##name##f(x); } \
  inline double name##_of(double x) { return __builtin_##name(x); }
LIBM(sqrt)
LIBM(floor)
LIBM(ceil)
LIBM(trunc)
inline float copysign_of(float x, float y) { return __builtin_copysignf(x, y); }
inline double copysign_of(double x, double y) { return __builtin_copysign(x, y); }
inline float fmod_of(float x, float y) { return __builtin_fmodf(x, y); }
inline double fmod_of(double x, double y) { return __builtin_fmod(x, y); }

#define FLOAT_FORMULA1(name, ...) \
  struct name {                   \
    template <class T>            \
    static inline T apply(T x) {  \
      return __VA_ARGS__;         \
    }                             \
  };
FLOAT_FORMULA2(remf, fmod_of(x, y))
FLOAT_FORMULA2(copysign, copysign_of(x, y))
FLOAT_FORMULA1(negf, -x)
FLOAT_FORMULA1(absf, bits_as<T>(bits_as<Bits<T>>(x) & (~Bits<T>{0} >> 1)))
FLOAT_FORMULA1(sqrt, sqrt_of(x))
FLOAT_FORMULA1(rsqrt, T{1} / sqrt_of(x))
FLOAT_FORMULA1(floor, floor_of(x))
FLOAT_FORMULA1(ceil, ceil_of(x))
FLOAT_FORMULA1(trunc, trunc_of(x))
// Half away from zero; the sign of x is kept on zeros.
FLOAT_FORMULA1(round, copysign_of(trunc_of(x) +
                                      (absf::apply(x - trunc_of(x)) >= T{0.5} ? copysign_of(T{1}, x) : T{0}),
                                  x))
struct roundeven {  // adding 2^23 (2^52) rounds to nearest even where there is a fraction at all
  template <class T>
  static inline T apply(T x) {
    constexpr T kBig = sizeof(T) == 4 ? T{8388608} : T{4503599627370496};
    T magnitude = absf::apply(x);
    T rounded = (magnitude + kBig) - kBig;
    return magnitude < kBig ? copysign_of(rounded, x) : x;
  }
};
struct fma {
  template <class T>
  static inline T apply(T x, T y, T z) {
    return fused(x, y, z);
  }
};
struct clampf_none {
  template <class T>
  static inline T apply(T x, T low, T high) {
    return minnumf::apply(maxnumf::apply(x, low), high);
  }
};
struct clampf_all {
  template <class T>
  static inline T apply(T x, T low, T high) {
    return minimumf::apply(maximumf::apply(x, low), high);
  }
};

// x * y + z of f16, bf16 or fp8 operands for a later rounding to their type. The product is exact in f64; the
// sum and its conversion to f32 round to odd, so that rounding once more to at most 11 bits is as if from the
// exact value.
struct fma_to_odd {
  static inline float apply(float x, float y, float z) {
    double p = static_cast<double>(x) * y, c = z;
    double sum = p + c;
    double back = sum - p;
    double error = (p - (sum - back)) + (c - back);  // exact: TwoSum
    uint64_t wide = bits_as<uint64_t>(sum);
    bool inexact = error != 0 && error == error && sum - sum == 0;
    bool too_far = (error < 0) != (sum < 0);
    uint64_t odd = (wide - too_far) | 1;
    sum = bits_as<double>(inexact ? odd : wide);
    float near = static_cast<float>(sum);
    uint32_t narrow = bits_as<uint32_t>(near);
    double again = near;
    bool differs = again != sum && sum == sum;
    bool above = __builtin_fabs(again) > __builtin_fabs(sum);
    uint32_t near_odd = (narrow - above) | 1;
    return bits_as<float>(differs ? near_odd : narrow);
  }
};

template <uint16_t kMask, bool kAnd>
struct sign_bit {
  template <class T>
  static inline T apply(T x) {
    return static_cast<T>(kAnd ? x & kMask : x ^ kMask);
  }
};
// Negation, absolute value and copied signs of types whose sign is a bit of its own: NaNs keep their payload.
template <bool kAbs>
Loop sign_loop(Type in) {
  switch (in) {
    case Type::kF16:
    case Type::kBF16:
      return map1<uint16_t, uint16_t, sign_bit<kAbs ? 0x7fff : 0x8000, kAbs>>;
    case Type::kF8E4M3FN:
    case Type::kF8E5M2:
    case Type::kF8E4M3B11FNUZ:
      return map1<uint8_t, uint8_t, sign_bit<kAbs ? 0x7f : 0x80, kAbs>>;
    default:
      return nullptr;
  }
}

template <uint16_t kSign>
struct sign_of_second {
  template <class T>
  static inline T apply(T x, T y) {
    return static_cast<T>((x & ~kSign) | (y & kSign));
  }
};
Loop copysign_loop(Type in) {
  switch (in) {
    case Type::kF16:
    case Type::kBF16:
      return map2<uint16_t, uint16_t, sign_of_second<0x8000>>;
    case Type::kF8E4M3FN:
    case Type::kF8E5M2:
    case Type::kF8E4M3B11FNUZ:
      return map2<uint8_t, uint8_t, sign_of_second<0x80>>;
    default:
      return nullptr;
  }
}

template <class F, int arity>
Loop pick(Type in) {
  if (in == Type::kTF32) in = Type::kF32;
  if constexpr (arity == 1) {
    if (in == Type::kF32) return map1<float, float, F>;
    if (in == Type::kF64) return map1<double, double, F>;
    return narrow_loop<map1<float, float, F>, 1>(in);
  } else if constexpr (arity == 2) {
    if (in == Type::kF32) return map2<float, float, F>;
    if (in == Type::kF64) return map2<double, double, F>;
    return narrow_loop<map2<float, float, F>, 2>(in);
  } else {
    if (in == Type::kF32) return map3<float, float, F>;
    if (in == Type::kF64) return map3<double, double, F>;
    return narrow_loop<map3<float, float, F>, 3>(in);
  }
}

}  // namespace

Loop find_float(Functor functor, Type in, Type out) {
  if (in != out) return nullptr;
  switch (functor) {
    case Functor::negf:
      if (Loop loop = sign_loop<false>(in)) return loop;
      return pick<negf, 1>(in);
    case Functor::absf:
      if (Loop loop = sign_loop<true>(in)) return loop;
      return pick<absf, 1>(in);
    case Functor::copysign:
      if (Loop loop = copysign_loop(in)) return loop;
      return pick<copysign, 2>(in);
    case Functor::fma:
      if (Loop loop = narrow_loop<map3<float, float, fma_to_odd>, 3>(in)) return loop;
      return pick<fma, 3>(in);
    default:
      break;
  }
  switch (functor) {
#define CASE(name, arity) \
  case Functor::name:     \
    return pick<name, arity>(in);
    TRITON_RUNNER_FLOAT_FUNCTORS(CASE)
#undef CASE
    default:
      return nullptr;
  }
}

}  // namespace triton_runner::num::SIMD_ISA
