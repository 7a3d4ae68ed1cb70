// Integer division and remainder; nothing traps. Division by 0 gives what NVIDIA GPUs compute: all ones as quotient and as
// remainder, the dividend as a remainder that is made from the quotient. LLVM divides 64 bits as 32 where both
// operands have no more.
//
// Up to 32 bits the quotient is that of f64 division, truncated: 53 bits are enough for it to be exact (the
// distance of an inexact quotient from the next integer is at least 1/divisor, far more than the rounding
// error), and it vectorises.
#include <type_traits>

#include "simd/common.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

// Ones in as many bits as are divided.
template <class U>
inline U quotient_by_zero(U x) {
  const bool as_32_bits = sizeof(U) == 8 && static_cast<uint64_t>(x) >> 32 == 0;
  return as_32_bits ? static_cast<U>(0xffffffffu) : static_cast<U>(-1);
}

// The quotient and remainder of each rounding, from the truncated quotient. U wraps: the smallest integer /
// -1 does too.
template <class U, class T>
struct Parts {
  U quotient, remainder;
  T x, y;
};
struct divide {
  template <class P>
  static inline auto apply(P p) {
    return p.quotient;
  }
};
struct remainder {
  template <class P>
  static inline auto apply(P p) {
    return p.y == 0 ? p.quotient : p.remainder;
  }
};
struct paired_remainder {
  template <class P>
  static inline auto apply(P p) {
    return p.remainder;
  }
};
struct ceiling {
  template <class P>
  static inline auto apply(P p) {
    using U = decltype(p.quotient);
    bool up = p.remainder != 0 && ((p.x < 0) == (p.y < 0));
    if (std::is_unsigned_v<decltype(p.x)> && p.x == 0)
      return U{0};  // MLIR's ceildivui divides x - 1, but for 0
    return static_cast<U>(p.quotient + up);
  }
};
struct flooring {
  template <class P>
  static inline auto apply(P p) {
    bool down = p.remainder != 0 && ((p.x < 0) != (p.y < 0));
    return static_cast<decltype(p.quotient)>(p.quotient - down);
  }
};

inline int32_t truncated(int32_t x, int32_t y) { return static_cast<int32_t>(static_cast<double>(x) / y); }
inline uint32_t truncated(uint32_t x, uint32_t y) {
  return static_cast<uint32_t>(static_cast<double>(x) / y);
}
inline int64_t truncated(int64_t x, int64_t y) { return x / y; }
inline uint64_t truncated(uint64_t x, uint64_t y) { return x / y; }

// T is the element read as signed or unsigned, U its unsigned twin, W the type the quotient is computed in.
template <class T, class U, class W, class F>
void loop(void* out, const void* a, const void* b, const void*, int64_t n) {
  auto* o = static_cast<U*>(out);
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(b);
  T zero = 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    T d = y[i];
    bool is_zero = d == zero;
    bool is_minus_one = static_cast<T>(-1) < zero && d == static_cast<T>(-1);
    W safe = is_zero | is_minus_one ? W{1} : static_cast<W>(d);
    auto q = static_cast<U>(truncated(static_cast<W>(x[i]), safe));
    q = is_minus_one ? static_cast<U>(U{0} - static_cast<U>(x[i])) : q;
    q = is_zero ? quotient_by_zero(static_cast<U>(x[i])) : q;
    auto r = static_cast<U>(static_cast<U>(x[i]) -
                            static_cast<U>(static_cast<decltype(U{} + 0u)>(q) * static_cast<U>(d)));
    o[i] = F::apply(Parts<U, T>{q, r, x[i], d});
  }
}

// i1: the quotient is the dividend and the remainder 0, as LLVM has it, which knows no divisor but true.
template <bool kRemainder>
void loop_i1(void* out, const void* a, const void*, const void*, int64_t n) {
  auto* o = static_cast<uint8_t*>(out);
  auto* x = static_cast<const uint8_t*>(a);
  for (int64_t i = 0; i < n; ++i) o[i] = kRemainder ? 0 : x[i];
}

template <class F>
Loop pick_signed(Type in) {
  switch (in) {
    case Type::kI8:
      return loop<int8_t, uint8_t, int32_t, F>;
    case Type::kI16:
      return loop<int16_t, uint16_t, int32_t, F>;
    case Type::kI32:
      return loop<int32_t, uint32_t, int32_t, F>;
    case Type::kI64:
      return loop<int64_t, uint64_t, int64_t, F>;
    default:
      return nullptr;
  }
}

template <class F>
Loop pick_unsigned(Type in) {
  switch (in) {
    case Type::kI8:
      return loop<uint8_t, uint8_t, uint32_t, F>;
    case Type::kI16:
      return loop<uint16_t, uint16_t, uint32_t, F>;
    case Type::kI32:
      return loop<uint32_t, uint32_t, uint32_t, F>;
    case Type::kI64:
    case Type::kPointer:
      return loop<uint64_t, uint64_t, uint64_t, F>;
    default:
      return nullptr;
  }
}

}  // namespace

Loop find_division(Functor functor, Type in, Type out) {
  if (in != out) return nullptr;
  bool is_remainder = functor == Functor::remsi || functor == Functor::remui ||
                      functor == Functor::remsi_paired || functor == Functor::remui_paired;
  if (in == Type::kI1) {
    switch (functor) {
#define CASE(name, arity) \
  case Functor::name:     \
    return is_remainder ? loop_i1<true> : loop_i1<false>;
      TRITON_RUNNER_DIV_FUNCTORS(CASE)
#undef CASE
      default:
        return nullptr;
    }
  }
  switch (functor) {
    case Functor::divsi:
      return pick_signed<divide>(in);
    case Functor::remsi:
      return pick_signed<remainder>(in);
    case Functor::remsi_paired:
      return pick_signed<paired_remainder>(in);
    case Functor::remui_paired:
      return pick_unsigned<paired_remainder>(in);
    case Functor::ceildivsi:
      return pick_signed<ceiling>(in);
    case Functor::floordivsi:
      return pick_signed<flooring>(in);
    case Functor::divui:
      return pick_unsigned<divide>(in);
    case Functor::remui:
      return pick_unsigned<remainder>(in);
    case Functor::ceildivui:
      return pick_unsigned<ceiling>(in);
    default:
      return nullptr;
  }
}

}  // namespace triton_runner::num::SIMD_ISA
