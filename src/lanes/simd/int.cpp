// Computes integer arithmetic: PTX ISA 9.7.1.1 to 9.7.1.13 and the carries of 9.7.2.
#include "simd/loops.h"

namespace triton_runner::lanes::SIMD_ISA {
namespace {

struct add_sat {  // s32
  LANES_INLINE int32_t operator()(int32_t a, int32_t b) const {
    int32_t sum = int32_t(uint32_t(a) + uint32_t(b));
    return ((a ^ sum) & (b ^ sum)) < 0 ? (a >> 31) ^ 0x7fffffff : sum;
  }
};
struct sub_sat {
  LANES_INLINE int32_t operator()(int32_t a, int32_t b) const {
    int32_t rest = int32_t(uint32_t(a) - uint32_t(b));
    return ((a ^ b) & (a ^ rest)) < 0 ? (a >> 31) ^ 0x7fffffff : rest;
  }
};
struct mul_wide {
  template <class T>
  LANES_INLINE twice<T> operator()(T a, T b) const {
    return twice<T>(a) * b;
  }
};
template <class Product>
struct mad {
  template <class T, class C>
  LANES_INLINE C operator()(T a, T b, C c) const {
    return C(wrap<C>(Product{}(a, b)) + wrap<C>(c));
  }
};
struct mad_hi_sat {
  LANES_INLINE int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    return add_sat{}(mul_hi{}(a, b), c);
  }
};
template <class T>
LANES_INLINE T low24(T a) {
  return T(uint32_t(a) << 8) >> 8;
}
struct mul24_lo {
  template <class T>
  LANES_INLINE T operator()(T a, T b) const {
    return T(uint32_t(low24(a)) * uint32_t(low24(b)));
  }
};
struct mul24_hi {  // bits 47..16 of the product
  template <class T>
  LANES_INLINE T operator()(T a, T b) const {
    return T((twice<T>(low24(a)) * low24(b)) >> 16);
  }
};
struct mad24_hi_sat {
  LANES_INLINE int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    return add_sat{}(mul24_hi{}(a, b), c);
  }
};
struct sad {
  template <class T>
  LANES_INLINE T operator()(T a, T b, T c) const {
    return T(wrap<T>(c) + (a < b ? wrap<T>(b) - wrap<T>(a) : wrap<T>(a) - wrap<T>(b)));
  }
};
NUM_FORMULA2(rem, y == 0 ? static_cast<T>(-1) : sub{}(x, mul{}(div_int{}(x, y), y)))
template <class Op>
struct relu {
  template <class T>
  LANES_INLINE T operator()(T a, T b) const {
    return max{}(Op{}(a, b), T(0));
  }
};

// add, sub and mad with CC.CF, a .pred register at e: 0 or -1. Subtraction adds the complement, so that its flag is set
// where it does not borrow: the ISA's text says the borrow, and an H200 with any ptxas does this.
enum class CarryOp { kAdd, kSub, kMadLo, kMadHi };
template <CarryOp kOp, class T, bool kIn, bool kOut>
void carry(Lanes& x, const Operands& o) {
  T* d = values<T>(x, o.d);
  const T* a = values<const T>(x, o.a);
  const T* b = values<const T>(x, o.b);
  const T* c = kOp == CarryOp::kMadLo || kOp == CarryOp::kMadHi ? values<const T>(x, o.c) : nullptr;
  int8_t* flag = values<int8_t>(x, o.e);
#pragma GCC ivdep
  for (uint32_t i = 0; i < x.count; ++i) {
    constexpr bool kIsSub = kOp == CarryOp::kSub;
    T carry_in = kIn ? T((flag[i] != 0) != kIsSub) : T(0), result, borrow;
    if constexpr (kIsSub) {
      T rest = a[i] - b[i];
      result = rest - carry_in;
      borrow = (a[i] < b[i]) | (rest < carry_in);
    } else {
      T left = a[i], right = b[i];
      if constexpr (kOp == CarryOp::kMadLo) left = a[i] * b[i], right = c[i];
      if constexpr (kOp == CarryOp::kMadHi) left = mul_hi{}(a[i], b[i]), right = c[i];
      T sum = left + right;
      result = sum + carry_in;
      borrow = (sum < left) | (result < carry_in);
    }
    bool on = !x.mask || x.mask[i];
    d[i] = on ? result : d[i];
    if (kOut) flag[i] = on ? int8_t(-int8_t((borrow != 0) != kIsSub)) : flag[i];
  }
}
// Signed high halves need the signed product.
template <class S, bool kIn, bool kOut>
void carry_hi_signed(Lanes& x, const Operands& o) {
  using T = unsign<S>;
  T* d = values<T>(x, o.d);
  const S* a = values<const S>(x, o.a);
  const S* b = values<const S>(x, o.b);
  const T* c = values<const T>(x, o.c);
  int8_t* flag = values<int8_t>(x, o.e);
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i)) continue;
    T left = T(mul_hi{}(a[i], b[i])), carry_in = kIn ? T(flag[i] != 0) : T(0);
    T sum = left + c[i], result = sum + carry_in;
    if (kOut) flag[i] = int8_t(-int8_t((sum < left) | (result < carry_in)));
    d[i] = result;
  }
}

// dp4a, dp2a: products of bytes (or halves with two of four bytes) summed.
template <class A, class B, class D>
struct dp4a {
  LANES_INLINE D operator()(uint32_t a, uint32_t b, D c) const {
    uint32_t sum = uint32_t(c);
#pragma GCC unroll 4
    for (int k = 0; k < 32; k += 8) sum += uint32_t(int32_t(A(a >> k)) * int32_t(B(b >> k)));
    return D(sum);
  }
};
template <class A, class B, class D, int kHigh>
struct dp2a {
  LANES_INLINE D operator()(uint32_t a, uint32_t b, D c) const {
    b >>= 16 * kHigh;
    return D(uint32_t(c) + uint32_t(int32_t(A(a))) * uint32_t(int32_t(B(b))) +
             uint32_t(int32_t(A(a >> 16))) * uint32_t(int32_t(B(b >> 8))));
  }
};

// One row a type: X(Type's name, C++ type)
#define INT_TYPES(X) \
  X(U16, uint16_t) X(S16, int16_t) X(U32, uint32_t) X(S32, int32_t) X(U64, uint64_t) X(S64, int64_t)
#define SHORT_TYPES(X) X(U16, uint16_t) X(S16, int16_t) X(U32, uint32_t) X(S32, int32_t)
#define LONG_TYPES(X) X(U32, uint32_t) X(S32, int32_t) X(U64, uint64_t) X(S64, int64_t)
#define SIGNED_TYPES(X) X(S16, int16_t) X(S32, int32_t) X(S64, int64_t)

#define ROW2(op, t, T, variant, f) ROW(op, k##t, variant, map<f, 1, T, T, T>)
#define ROW3(op, t, T, variant, f) ROW(op, k##t, variant, map<f, 1, T, T, T, T>)
#define PACKED(op, variant, f)                                       \
  ROW(op, kU16x2, variant, map<f, 2, uint16_t, uint16_t, uint16_t>), \
      ROW(op, kS16x2, variant, map<f, 2, int16_t, int16_t, int16_t>)
// loop<..., flag taken, flag given>
#define CARRIES(base, with, t, variant, loop, ...)                            \
  ROW(base, k##t, (variant) | kVCarryOut, loop<__VA_ARGS__, false, true>),    \
      ROW(with, k##t, (variant) | kVCarryIn, loop<__VA_ARGS__, true, false>), \
      ROW(with, k##t, (variant) | kVCarryIn | kVCarryOut, loop<__VA_ARGS__, true, true>)

constexpr Row kRows[] = {
#define X(t, T)                                                                                    \
  ROW2(kAdd, t, T, 0, add), ROW2(kSub, t, T, 0, sub), ROW2(kMul, t, T, kVLow, mul),                \
      ROW2(kMul, t, T, kVHi, mul_hi), ROW3(kMad, t, T, kVLow, mad<mul>),                           \
      ROW3(kMad, t, T, kVHi, mad<mul_hi>), ROW3(kSad, t, T, 0, sad), ROW2(kDiv, t, T, 0, div_int), \
      ROW2(kRem, t, T, 0, rem), ROW2(kMin, t, T, 0, min), ROW2(kMax, t, T, 0, max),
    INT_TYPES(X)
#undef X
#define X(t, T)                                              \
  ROW(kMul, k##t, kVWide, map<mul_wide, 1, twice<T>, T, T>), \
      ROW(kMad, k##t, kVWide, map<mad<mul_wide>, 1, twice<T>, T, T, twice<T>>),
        SHORT_TYPES(X)
#undef X
#define X(t, T) ROW(kAbs, k##t, 0, map<abs_int, 1, T, T>), ROW(kNeg, k##t, 0, map<neg, 1, T, T>),
            SIGNED_TYPES(X)
#undef X
#define X(t, T)                                                    \
  CARRIES(kAdd, kAddc, t, 0, carry, CarryOp::kAdd, unsign<T>),     \
      CARRIES(kSub, kSubc, t, 0, carry, CarryOp::kSub, unsign<T>), \
      CARRIES(kMad, kMadc, t, kVLow, carry, CarryOp::kMadLo, unsign<T>),
                LONG_TYPES(X)
#undef X
                    CARRIES(kMad, kMadc, U32, kVHi, carry, CarryOp::kMadHi, uint32_t),
    CARRIES(kMad, kMadc, U64, kVHi, carry, CarryOp::kMadHi, uint64_t),
    CARRIES(kMad, kMadc, S32, kVHi, carry_hi_signed, int32_t),
    CARRIES(kMad, kMadc, S64, kVHi, carry_hi_signed, int64_t),
    ROW2(kAdd, S32, int32_t, kVSat, add_sat),
    ROW2(kSub, S32, int32_t, kVSat, sub_sat),
    ROW3(kMad, S32, int32_t, kVHi | kVSat, mad_hi_sat),
    PACKED(kAdd, 0, add),
    PACKED(kSub, 0, sub),
    PACKED(kMin, 0, min),
    PACKED(kMax, 0, max),
    ROW(kMin, kS16x2, kVRelu, map<relu<min>, 2, int16_t, int16_t, int16_t>),
    ROW(kMax, kS16x2, kVRelu, map<relu<max>, 2, int16_t, int16_t, int16_t>),
    ROW2(kMin, S32, int32_t, kVRelu, relu<min>),
    ROW2(kMax, S32, int32_t, kVRelu, relu<max>),
    ROW2(kMul24, U32, uint32_t, kVLow, mul24_lo),
    ROW2(kMul24, S32, int32_t, kVLow, mul24_lo),
    ROW2(kMul24, U32, uint32_t, kVHi, mul24_hi),
    ROW2(kMul24, S32, int32_t, kVHi, mul24_hi),
    ROW3(kMad24, U32, uint32_t, kVLow, mad<mul24_lo>),
    ROW3(kMad24, S32, int32_t, kVLow, mad<mul24_lo>),
    ROW3(kMad24, U32, uint32_t, kVHi, mad<mul24_hi>),
    ROW3(kMad24, S32, int32_t, kVHi, mad<mul24_hi>),
    ROW3(kMad24, S32, int32_t, kVHi | kVSat, mad24_hi_sat),
#define DOT(ta, tb, A4, B, A2, D)                                                        \
  ROW_OF(kDp4a, ta, tb, 0, map<dp4a<A4, B, D>, 1, D, uint32_t, uint32_t, D>),            \
      ROW_OF(kDp2a, ta, tb, kVLow, map<dp2a<A2, B, D, 0>, 1, D, uint32_t, uint32_t, D>), \
      ROW_OF(kDp2a, ta, tb, kVHi, map<dp2a<A2, B, D, 1>, 1, D, uint32_t, uint32_t, D>)
    DOT(kU32, kU32, uint8_t, uint8_t, uint16_t, uint32_t),
    DOT(kU32, kS32, uint8_t, int8_t, uint16_t, int32_t),
    DOT(kS32, kU32, int8_t, uint8_t, int16_t, int32_t),
    DOT(kS32, kS32, int8_t, int8_t, int16_t, int32_t),
};

}  // namespace

Rows int_rows() { return {kRows, sizeof(kRows) / sizeof(Row)}; }

}  // namespace triton_runner::lanes::SIMD_ISA
