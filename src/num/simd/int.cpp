// Computes integer arithmetic, bit operations, shifts and comparisons on i1 .. i64 and pointers. Division is
// in division.cpp.
#include "simd/common.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

// Elements are unsigned: F on them as signed ones.
template <class F>
struct as_signed {
  template <class T>
  NUM_INLINE T operator()(T x) const {
    return static_cast<T>(F{}(static_cast<sign<T>>(x)));
  }
  template <class T>
  NUM_INLINE T operator()(T x, T y) const {
    return static_cast<T>(F{}(static_cast<sign<T>>(x), static_cast<sign<T>>(y)));
  }
};
using addi = add;
using subi = sub;
using muli = mul;
using andi = and_;
using ori = or_;
using xori = xor_;
using shli = shl;
using shrui = shr;
using maxui = max;
using minui = min;
using mulhiui = mul_hi;
using maxsi = as_signed<max>;
using minsi = as_signed<min>;
using mulhisi = as_signed<mul_hi>;
using absi = as_signed<abs_int>;
NUM_FORMULA2(shrsi, shr{}(static_cast<sign<T>>(x), y))
// Scalar: an instruction an element is faster than vectors without one.
NUM_FORMULA1(ctpop, __builtin_popcountll(x))
NUM_FORMULA1(ctlz, x ? __builtin_clzll(x) - (64 - bits) : bits)
NUM_FORMULA1(cttz, x ? __builtin_ctzll(x) : bits)

template <uint32_t kComparison, bool kSigned = false>
struct compare {
  template <class T>
  NUM_INLINE uint8_t operator()(T x, T y) const {
    using V = std::conditional_t<kSigned, sign<T>, T>;
    return holds<kComparison>(static_cast<V>(x), static_cast<V>(y));
  }
};
using cmpi_eq = compare<kCmpEq>;
using cmpi_ne = compare<kCmpNeu>;
using cmpi_slt = compare<kCmpLt, true>;
using cmpi_sle = compare<kCmpLe, true>;
using cmpi_sgt = compare<kCmpGt, true>;
using cmpi_sge = compare<kCmpGe, true>;
using cmpi_ult = compare<kCmpLt>;
using cmpi_ule = compare<kCmpLe>;
using cmpi_ugt = compare<kCmpGt>;
using cmpi_uge = compare<kCmpGe>;

// i1: as an i8 that is 0 or -1, which gives the one-bit result in the low bit for every formula of two
// operands.
template <class F>
struct OneBit {
  NUM_INLINE uint8_t operator()(uint8_t x, uint8_t y) const {
    return F{}(static_cast<uint8_t>(-x), static_cast<uint8_t>(-y)) & 1;
  }
};

template <class F>
Loop pick1(Type in) {
  return by_width<Loop>(in, map<1, uint8_t, uint8_t, F>, map<1, uint16_t, uint16_t, F>,
                        map<1, uint32_t, uint32_t, F>, map<1, uint64_t, uint64_t, F>);
}

// Counts of an i64 that come as i32: libdevice's popcll and clzll.
template <class F>
struct counted {
  NUM_INLINE uint32_t operator()(uint64_t x) const { return static_cast<uint32_t>(F{}(x)); }
};

// Comparisons give a byte an element, everything else its own type.
template <class T, class F, bool kCompares>
constexpr Loop loop2 = map<2, std::conditional_t<kCompares, uint8_t, T>, T, F>;
template <class F, bool kCompares = false>
Loop pick2(Type in) {
  if (in == Type::kI1) return map<2, uint8_t, uint8_t, OneBit<F>>;
  return by_width(without_pointers(in), loop2<uint8_t, F, kCompares>, loop2<uint16_t, F, kCompares>,
                  loop2<uint32_t, F, kCompares>, loop2<uint64_t, F, kCompares>);
}

template <class F, int arity>
Loop pick(Type in) {
  if constexpr (arity == 1)
    return pick1<F>(in);
  else
    return pick2<F>(in);
}

}  // namespace

Loop find_int(IntFunctor functor, Type in, Type out) {
  if (in == Type::kI64 && out == Type::kI32) {
    if (functor == IntFunctor::ctpop) return map<1, uint32_t, uint64_t, counted<ctpop>>;
    if (functor == IntFunctor::ctlz) return map<1, uint32_t, uint64_t, counted<ctlz>>;
    return nullptr;
  }
  switch (functor) {
#define CASE(name, arity) \
  case IntFunctor::name:  \
    return in == out ? pick<name, arity>(in) : nullptr;
    TRITON_RUNNER_INT_FUNCTORS(CASE)
#undef CASE
  }
  return nullptr;
}

Loop find_cmpi(CmpiFunctor functor, Type in, Type out) {
  switch (functor) {
#define CASE(name, arity) \
  case CmpiFunctor::name: \
    return out == Type::kI1 ? pick2<name, true>(in) : nullptr;
    TRITON_RUNNER_CMPI_FUNCTORS(CASE)
#undef CASE
  }
  return nullptr;
}

}  // namespace triton_runner::num::SIMD_ISA
