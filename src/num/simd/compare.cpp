// Compares and classifies floats: the results are masks of 0 and 1. Narrower floats compare as f32, exactly.
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
  return out == Type::kI1 ? float_loop_to<2, uint8_t, F>(in) : nullptr;
}
template <template <class> class F>
Loop pick_class(Type in, Type out) {
  if (out == Type::kI1) return float_loop_to<1, uint8_t, F<uint8_t>>(in);
  return out == Type::kI32 ? float_loop_to<1, uint32_t, F<uint32_t>>(in) : nullptr;
}

}  // namespace

Loop find_cmpf(CmpfFunctor functor, Type in, Type out) {
  switch (functor) {
#define CASE(name, pick)  \
  case CmpfFunctor::name: \
    return pick(in, out);
    // clang-format off
    CASE(isnan, pick_class<isnan>) CASE(isinf, pick_class<isinf>)
    CASE(isfinite, pick_class<isfinite>) CASE(signbit, pick_class<signbit>)
    CASE(cmpf_false, pick<constant<false>>) CASE(cmpf_true, pick<constant<true>>)
    CASE(cmpf_oeq, pick<compare<kCmpEq>>) CASE(cmpf_ueq, pick<compare<kCmpEqu>>)
    CASE(cmpf_ogt, pick<compare<kCmpGt>>) CASE(cmpf_ugt, pick<compare<kCmpGtu>>)
    CASE(cmpf_oge, pick<compare<kCmpGe>>) CASE(cmpf_uge, pick<compare<kCmpGeu>>)
    CASE(cmpf_olt, pick<compare<kCmpLt>>) CASE(cmpf_ult, pick<compare<kCmpLtu>>)
    CASE(cmpf_ole, pick<compare<kCmpLe>>) CASE(cmpf_ule, pick<compare<kCmpLeu>>)
    CASE(cmpf_one, pick<compare<kCmpNe>>) CASE(cmpf_une, pick<compare<kCmpNeu>>)
    CASE(cmpf_ord, pick<compare<kCmpNum>>) CASE(cmpf_uno, pick<compare<kCmpNan>>)
    // clang-format on
#undef CASE
  }
  return nullptr;
}

}  // namespace triton_runner::num::SIMD_ISA
