// Float comparisons and classifications: masks of 0 and 1. Narrower floats compare as f32, exactly.
#include "simd/float_ops.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

#define COMPARISON(name, ...)                                                 \
  struct name {                                                               \
    template <class T>                                                        \
    static inline uint8_t apply([[maybe_unused]] T x, [[maybe_unused]] T y) { \
      return __VA_ARGS__;                                                     \
    }                                                                         \
  };
COMPARISON(cmpf_false, 0)
COMPARISON(cmpf_oeq, x == y)
COMPARISON(cmpf_ogt, x > y)
COMPARISON(cmpf_oge, x >= y)
COMPARISON(cmpf_olt, x < y)
COMPARISON(cmpf_ole, x <= y)
COMPARISON(cmpf_one, (x < y) | (x > y))
COMPARISON(cmpf_ord, (x == x) & (y == y))
COMPARISON(cmpf_ueq, !((x < y) | (x > y)))
COMPARISON(cmpf_ugt, !(x <= y))
COMPARISON(cmpf_uge, !(x < y))
COMPARISON(cmpf_ult, !(x >= y))
COMPARISON(cmpf_ule, !(x > y))
COMPARISON(cmpf_une, x != y)
COMPARISON(cmpf_uno, (x != x) | (y != y))
COMPARISON(cmpf_true, 1)

template <class T>
constexpr Bits<T> kInfinity = sizeof(T) == 4 ? Bits<T>{0x7f800000} : static_cast<Bits<T>>(0x7ff0000000000000);
template <class T>
inline Bits<T> magnitude(T x) {
  return bits_as<Bits<T>>(x) & (~Bits<T>{0} >> 1);
}

#define CLASSIFICATION(name, ...)  \
  template <class Out>             \
  struct name {                    \
    template <class T>             \
    static inline Out apply(T x) { \
      return __VA_ARGS__;          \
    }                              \
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
