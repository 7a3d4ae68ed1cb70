// Integer arithmetic, bit operations, shifts and comparisons on i1 .. i64 and pointers.
#include <type_traits>

#include "simd/common.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

template <class T>
struct Twin;
template <>
struct Twin<uint8_t> {
  using Signed = int8_t;
  using Wide = uint16_t;
};
template <>
struct Twin<uint16_t> {
  using Signed = int16_t;
  using Wide = uint32_t;
};
template <>
struct Twin<uint32_t> {
  using Signed = int32_t;
  using Wide = uint64_t;
};
template <>
struct Twin<uint64_t> {
  using Signed = int64_t;
  using Wide = unsigned __int128;
};
template <class T>
using S = typename Twin<T>::Signed;

// Formulas work on the unsigned type T and wrap; `bits` is T's width.
#define FORMULA2(name, ...)                                \
  struct name {                                            \
    template <class T>                                     \
    static inline T apply(T x, T y) {                      \
      [[maybe_unused]] constexpr int bits = sizeof(T) * 8; \
      return static_cast<T>(__VA_ARGS__);                  \
    }                                                      \
  };
#define FORMULA1(name, ...)                                \
  struct name {                                            \
    template <class T>                                     \
    static inline T apply(T x) {                           \
      [[maybe_unused]] constexpr int bits = sizeof(T) * 8; \
      return static_cast<T>(__VA_ARGS__);                  \
    }                                                      \
  };
// uint16_t * uint16_t would be a signed product that may overflow: widen to unsigned first.
template <class T>
using Arith = decltype(T{} + 0u);

FORMULA2(addi, x + y)
FORMULA2(subi, x - y)
FORMULA2(muli, static_cast<Arith<T>>(x) * y)
FORMULA2(andi, (x & y))
FORMULA2(ori, x | y)
FORMULA2(xori, x ^ y)
FORMULA2(shli, y < bits ? static_cast<Arith<T>>(x) << (y & (bits - 1)) : 0)
FORMULA2(shrui, y < bits ? x >> (y & (bits - 1)) : 0)
FORMULA2(shrsi, static_cast<S<T>>(x) >> (y < bits ? y : bits - 1))
FORMULA2(maxsi, static_cast<S<T>>(x) > static_cast<S<T>>(y) ? x : y)
FORMULA2(minsi, static_cast<S<T>>(x) < static_cast<S<T>>(y) ? x : y)
FORMULA2(maxui, x > y ? x : y)
FORMULA2(minui, x < y ? x : y)
FORMULA2(mulhiui, (static_cast<typename Twin<T>::Wide>(x) * y) >> bits)
FORMULA1(absi, static_cast<S<T>>(x) < 0 ? 0 - x : x)
struct mulhisi {  // the unsigned product's high half, corrected for the signs
  template <class T>
  static inline T apply(T x, T y) {
    T high = mulhiui::apply(x, y);
    return static_cast<T>(high - (static_cast<S<T>>(x) < 0 ? y : 0) - (static_cast<S<T>>(y) < 0 ? x : 0));
  }
};
struct ctpop {
  template <class T>
  static inline T apply(T x) {
    return static_cast<T>(__builtin_popcountll(x));
  }
};
struct ctlz {
  template <class T>
  static inline T apply(T x) {
    return static_cast<T>(x ? __builtin_clzll(x) - (64 - static_cast<int>(sizeof(T)) * 8) : sizeof(T) * 8);
  }
};
struct cttz {
  template <class T>
  static inline T apply(T x) {
    return static_cast<T>(x ? __builtin_ctzll(x) : sizeof(T) * 8);
  }
};

#define COMPARISON(name, ...)                                                     \
  struct name {                                                                   \
    template <class T>                                                            \
    static inline uint8_t apply(T x, T y) {                                       \
      [[maybe_unused]] S<T> sx = static_cast<S<T>>(x), sy = static_cast<S<T>>(y); \
      return __VA_ARGS__;                                                         \
    }                                                                             \
  };
COMPARISON(cmpi_eq, x == y)
COMPARISON(cmpi_ne, x != y)
COMPARISON(cmpi_slt, sx < sy)
COMPARISON(cmpi_sle, sx <= sy)
COMPARISON(cmpi_sgt, sx > sy)
COMPARISON(cmpi_sge, sx >= sy)
COMPARISON(cmpi_ult, x < y)
COMPARISON(cmpi_ule, x <= y)
COMPARISON(cmpi_ugt, x > y)
COMPARISON(cmpi_uge, x >= y)

// i1: as an i8 that is 0 or -1, which gives the one-bit result in the low bit for every formula of two
// operands.
template <class F>
struct OneBit {
  static inline uint8_t apply(uint8_t x, uint8_t y) {
    return F::template apply<uint8_t>(static_cast<uint8_t>(-x), static_cast<uint8_t>(-y)) & 1;
  }
};

template <class F>
Loop pick1(Type in) {
  switch (in) {
    case Type::kI8:
      return map1<uint8_t, uint8_t, F>;
    case Type::kI16:
      return map1<uint16_t, uint16_t, F>;
    case Type::kI32:
      return map1<uint32_t, uint32_t, F>;
    case Type::kI64:
      return map1<uint64_t, uint64_t, F>;
    default:
      return nullptr;
  }
}

// Counts of an i64 that come as i32: libdevice's popcll and clzll.
template <class F>
struct counted {
  static inline uint32_t apply(uint64_t x) { return static_cast<uint32_t>(F::apply(x)); }
};

// Comparisons give a byte an element, everything else its own type.
template <class F, bool kCompares = false>
Loop pick2(Type in) {
  switch (in) {
    case Type::kI1:
      return map2<uint8_t, uint8_t, OneBit<F>>;
    case Type::kI8:
      return map2<uint8_t, uint8_t, F>;
    case Type::kI16:
      return map2<std::conditional_t<kCompares, uint8_t, uint16_t>, uint16_t, F>;
    case Type::kI32:
      return map2<std::conditional_t<kCompares, uint8_t, uint32_t>, uint32_t, F>;
    case Type::kI64:
    case Type::kPointer:
      return map2<std::conditional_t<kCompares, uint8_t, uint64_t>, uint64_t, F>;
    default:
      return nullptr;
  }
}

template <class F, int arity>
Loop pick(Type in) {
  if constexpr (arity == 1)
    return pick1<F>(in);
  else
    return pick2<F>(in);
}

}  // namespace

Loop find_int(Functor functor, Type in, Type out) {
  if (in == Type::kI64 && out == Type::kI32) {
    if (functor == Functor::ctpop) return map1<uint32_t, uint64_t, counted<ctpop>>;
    if (functor == Functor::ctlz) return map1<uint32_t, uint64_t, counted<ctlz>>;
    return nullptr;
  }
  switch (functor) {
#define CASE(name, arity) \
  case Functor::name:     \
    return in == out ? pick<name, arity>(in) : nullptr;
    TRITON_RUNNER_INT_FUNCTORS(CASE)
#undef CASE
#define CASE(name, arity) \
  case Functor::name:     \
    return out == Type::kI1 ? pick2<name, true>(in) : nullptr;
    TRITON_RUNNER_CMPI_FUNCTORS(CASE)
#undef CASE
    default:
      return nullptr;
  }
}

}  // namespace triton_runner::num::SIMD_ISA
