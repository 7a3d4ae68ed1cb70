// Computes float arithmetic: IEEE, each op rounded once to its type. f16, bf16 and fp8 are computed in f32
// and rounded, which for + - * / and sqrt is the correctly rounded result (f32 has more than twice their
// precision); fma rounds to odd on the way.
#include "simd/common.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

inline float fmod_of(float x, float y) { return __builtin_fmodf(x, y); }
inline double fmod_of(double x, double y) { return __builtin_fmod(x, y); }

using addf = add;
using subf = sub;
using mulf = mul;
using divf = div;
NUM_FORMULA2(remf, fmod_of(x, y))
// Half away from zero; the sign of x is kept on zeros.
NUM_FORMULA1(round,
             copysign_of(trunc_of(x) + (absf{}(x - trunc_of(x)) >= T{0.5} ? copysign_of(T{1}, x) : T{0}), x))
struct roundeven {  // adding 2^23 (2^52) rounds to nearest even where there is a fraction at all
  template <class T>
  NUM_INLINE T operator()(T x) const {
    constexpr T kBig = sizeof(T) == 4 ? T{8388608} : T{4503599627370496};
    T magnitude = absf{}(x);
    T rounded = (magnitude + kBig) - kBig;
    return magnitude < kBig ? copysign_of(rounded, x) : x;
  }
};
template <class Min, class Max>
struct clamp {
  template <class T>
  NUM_INLINE T operator()(T x, T low, T high) const {
    return Min{}(Max{}(x, low), high);
  }
};
using clampf_none = clamp<minnumf, maxnumf>;
using clampf_all = clamp<minimumf, maximumf>;

template <uint16_t kMask, bool kAnd>
struct sign_bit {
  template <class T>
  NUM_INLINE T operator()(T x) const {
    return static_cast<T>(kAnd ? x & kMask : x ^ kMask);
  }
};
template <uint16_t kSign>
struct sign_of_second {
  template <class T>
  NUM_INLINE T operator()(T x, T y) const {
    return static_cast<T>((x & ~kSign) | (y & kSign));
  }
};
// Negation, absolute value and copied signs of types whose sign is a bit of its own: NaNs keep their payload.
Loop of_sign_bit(Type in, Loop two_bytes, Loop one_byte) {
  if (in == Type::kF16 || in == Type::kBF16) return two_bytes;
  const bool is_fp8 = in == Type::kF8E4M3FN || in == Type::kF8E5M2 || in == Type::kF8E4M3B11FNUZ;
  return is_fp8 ? one_byte : nullptr;
}
template <bool kAbs>
Loop sign_loop(Type in) {
  return of_sign_bit(in, map<1, uint16_t, uint16_t, sign_bit<kAbs ? 0x7fff : 0x8000, kAbs>>,
                     map<1, uint8_t, uint8_t, sign_bit<kAbs ? 0x7f : 0x80, kAbs>>);
}
Loop copysign_loop(Type in) {
  return of_sign_bit(in, map<2, uint16_t, uint16_t, sign_of_second<0x8000>>,
                     map<2, uint8_t, uint8_t, sign_of_second<0x80>>);
}

}  // namespace

Loop find_float(FloatFunctor functor, Type in, Type out) {
  if (in != out) return nullptr;
  switch (functor) {
    case FloatFunctor::negf:
      if (Loop loop = sign_loop<false>(in)) return loop;
      return float_loop_of<1, negf>(in);
    case FloatFunctor::absf:
      if (Loop loop = sign_loop<true>(in)) return loop;
      return float_loop_of<1, absf>(in);
    case FloatFunctor::copysign:
      if (Loop loop = copysign_loop(in)) return loop;
      return float_loop_of<2, copysign>(in);
    case FloatFunctor::fma:
      if (Loop loop = narrow_loop<map<3, float, float, fused_odd<double>>, 3>(in)) return loop;
      return float_loop_of<3, fma>(in);
    default:
      break;
  }
  switch (functor) {
#define CASE(name, arity)  \
  case FloatFunctor::name: \
    return float_loop_of<arity, name>(in);
    TRITON_RUNNER_FLOAT_FUNCTORS(CASE)
#undef CASE
  }
  return nullptr;
}

}  // namespace triton_runner::num::SIMD_ISA
