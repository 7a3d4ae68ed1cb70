// Formulas on floats that arithmetic and reductions share. They are written for a scalar or for a GCC vector
// of lanes: a comparison is a bool or a lane mask, and `c ? x : y` selects either way.
#pragma once
#include "simd/common.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

// The integer type of the same shape as a float scalar or vector.
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
inline V bits_and(V x, V y) {
  return bits_as<V>(bits_as<Bits<V>>(x) & bits_as<Bits<V>>(y));
}
template <class V>
inline V bits_or(V x, V y) {
  return bits_as<V>(bits_as<Bits<V>>(x) | bits_as<Bits<V>>(y));
}

#define FLOAT_FORMULA2(name, ...)     \
  struct name {                       \
    template <class V>                \
    static inline V apply(V x, V y) { \
      return __VA_ARGS__;             \
    }                                 \
  };
FLOAT_FORMULA2(addf, x + y)
FLOAT_FORMULA2(subf, x - y)
FLOAT_FORMULA2(mulf, x* y)
FLOAT_FORMULA2(divf, x / y)
// Equal operands differ at most in the sign of a zero: and-ing the bits gives +0 where there is one, or-ing
// -0.
FLOAT_FORMULA2(larger, x == y ? bits_and(x, y) : (x > y ? x : y))  // unordered: y
FLOAT_FORMULA2(smaller, x == y ? bits_or(x, y) : (x < y ? x : y))
FLOAT_FORMULA2(maxnumf, y != y ? x : larger::apply(x, y))
FLOAT_FORMULA2(minnumf, y != y ? x : smaller::apply(x, y))
FLOAT_FORMULA2(maximumf, x != x ? x : larger::apply(x, y))
FLOAT_FORMULA2(minimumf, x != x ? x : smaller::apply(x, y))

}  // namespace
}  // namespace triton_runner::num::SIMD_ISA
