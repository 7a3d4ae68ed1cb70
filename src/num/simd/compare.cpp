// Float comparisons and classifications: masks of 0 and 1. Narrower floats compare as f32, exactly.
#include "simd/common.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

template <uint32_t kComparison>
struct compare {
  template <class T>
  NUM_INLINE uint8_t operator()(T x, T y) const {
    return holds<kComparison>(x, y);
  }
};
template <bool kAlways>
struct constant {
  template <class T>
  NUM_INLINE uint8_t operator()(T, T) const {
    return kAlways;
  }
};
using cmpf_false = constant<false>;
using cmpf_oeq = compare<kCmpEq>;
using cmpf_ogt = compare<kCmpGt>;
using cmpf_oge = compare<kCmpGe>;
using cmpf_olt = compare<kCmpLt>;
using cmpf_ole = compare<kCmpLe>;
using cmpf_one = compare<kCmpNe>;
using cmpf_ord = compare<kCmpNum>;
using cmpf_ueq = compare<kCmpEqu>;
using cmpf_ugt = compare<kCmpGtu>;
using cmpf_uge = compare<kCmpGeu>;
using cmpf_ult = compare<kCmpLtu>;
using cmpf_ule = compare<kCmpLeu>;
using cmpf_une = compare<kCmpNeu>;
using cmpf_uno = compare<kCmpNan>;
using cmpf_true = constant<true>;

template <class T>
constexpr Bits<T> kInfinity = sizeof(T) == 4 ? Bits<T>{0x7f800000} : static_cast<Bits<T>>(0x7ff0000000000000);
template <class T>
inline Bits<T> magnitude(T x) {
  return bits_as<Bits<T>>(x) & (~Bits<T>{0} >> 1);
}

#define CLASSIFICATION(name, ...)          \
  template <class Out>                     \
  struct name {                            \
    template <class T>                     \
    NUM_INLINE Out operator()(T x) const { \
      return __VA_ARGS__;                  \
    }                                      \
  };
CLASSIFICATION(isnan, magnitude(x) > kInfinity<T>)
CLASSIFICATION(isinf, magnitude(x) == kInfinity<T>)
CLASSIFICATION(isfinite, magnitude(x) < kInfinity<T>)
CLASSIFICATION(signbit, bits_as<Bits<T>>(x) >> (sizeof(T) * 8 - 1))

template <class F>
Loop pick(Type in, Type out) {
  if (out != Type::kI1) return nullptr;
  if (in == Type::kF32 || in == Type::kTF32) return map2<uint8_t, float, F>;
  if (in == Type::kF64) return map2<uint8_t, double, F>;
  return narrow_loop<map2<uint8_t, float, F>, 2, 1>(in);
}

template <template <class> class F, class Out>
Loop pick_class(Type in) {
  if (in == Type::kF32 || in == Type::kTF32) return map1<Out, float, F<Out>>;
  if (in == Type::kF64) return map1<Out, double, F<Out>>;
  return narrow_loop<map1<Out, float, F<Out>>, 1, sizeof(Out)>(in);
}

template <template <class> class F>
Loop pick_class(Type in, Type out) {
  if (out == Type::kI1) return pick_class<F, uint8_t>(in);
  if (out == Type::kI32) return pick_class<F, uint32_t>(in);
  return nullptr;
}

}  // namespace

Loop find_compare(Functor functor, Type in, Type out) {
  switch (functor) {
#define CASE(name)    \
  case Functor::name: \
    return pick_class<name>(in, out);
    // clang-format off
    CASE(isnan) CASE(isinf) CASE(isfinite) CASE(signbit)
// clang-format on
#undef CASE
#define CASE(name)    \
  case Functor::name: \
    return pick<name>(in, out);
        CASE(cmpf_false) CASE(cmpf_oeq) CASE(cmpf_ogt) CASE(cmpf_oge) CASE(cmpf_olt) CASE(cmpf_ole)
            CASE(cmpf_one) CASE(cmpf_ord) CASE(cmpf_ueq) CASE(cmpf_ugt) CASE(cmpf_uge) CASE(cmpf_ult)
                CASE(cmpf_ule) CASE(cmpf_une) CASE(cmpf_uno) CASE(cmpf_true)
#undef CASE
                    default : return nullptr;
  }
}

}  // namespace triton_runner::num::SIMD_ISA
