// Divides integers, with remainders; nothing traps. Division by 0 gives what NVIDIA GPUs compute: all ones as
// quotient and as remainder, the dividend as a remainder that is made from the quotient. LLVM divides 64 bits
// as 32 where both operands have no more.
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
  NUM_INLINE auto operator()(P p) const {
    return p.quotient;
  }
};
struct remainder {
  template <class P>
  NUM_INLINE auto operator()(P p) const {
    return p.y == 0 ? p.quotient : p.remainder;
  }
};
struct paired_remainder {
  template <class P>
  NUM_INLINE auto operator()(P p) const {
    return p.remainder;
  }
};
struct ceiling {
  template <class P>
  NUM_INLINE auto operator()(P p) const {
    using U = decltype(p.quotient);
    bool up = p.remainder != 0 && ((p.x < 0) == (p.y < 0));
    if (std::is_unsigned_v<decltype(p.x)> && p.x == 0)
      return U{0};  // MLIR's ceildivui divides x - 1, but for 0
    return static_cast<U>(p.quotient + up);
  }
};
struct flooring {
  template <class P>
  NUM_INLINE auto operator()(P p) const {
    bool down = p.remainder != 0 && ((p.x < 0) != (p.y < 0));
    return static_cast<decltype(p.quotient)>(p.quotient - down);
  }
};

// Divides elements read as signed or unsigned.
template <class F>
struct divided {
  template <class T>
  NUM_INLINE unsign<T> operator()(T x, T y) const {
    using U = unsign<T>;
    auto q = static_cast<U>(div_int{}(x, y));
    q = y == 0 ? quotient_by_zero(static_cast<U>(x)) : q;
    const U r = sub{}(static_cast<U>(x), mul{}(q, static_cast<U>(y)));
    return F{}(Parts<U, T>{q, r, x, y});
  }
};
template <class F>
struct Dividing {
  using Fn = Loop;
  template <class T>
  static constexpr Fn wide = map<2, unsign<T>, T, divided<F>>;
};

// i1: the quotient is the dividend and the remainder 0, as LLVM has it, which knows no divisor but true.
template <bool kRemainder>
void loop_i1(void* out, const void* a, const void*, const void*, int64_t n) {
  auto* o = static_cast<uint8_t*>(out);
  auto* x = static_cast<const uint8_t*>(a);
  for (int64_t i = 0; i < n; ++i) o[i] = kRemainder ? 0 : x[i];
}

}  // namespace

Loop find_division(DivisionFunctor functor, Type in, Type out) {
  if (in != out) return nullptr;
  using enum DivisionFunctor;
  const bool is_remainder =
      functor == remsi || functor == remui || functor == remsi_paired || functor == remui_paired;
  if (in == Type::kI1) return is_remainder ? loop_i1<true> : loop_i1<false>;
  switch (functor) {
    case divsi:
      return pick_signed<Dividing<divide>>(in);
    case remsi:
      return pick_signed<Dividing<remainder>>(in);
    case remsi_paired:
      return pick_signed<Dividing<paired_remainder>>(in);
    case remui_paired:
      return pick_unsigned<Dividing<paired_remainder>>(without_pointers(in));
    case ceildivsi:
      return pick_signed<Dividing<ceiling>>(in);
    case floordivsi:
      return pick_signed<Dividing<flooring>>(in);
    case divui:
      return pick_unsigned<Dividing<divide>>(without_pointers(in));
    case remui:
      return pick_unsigned<Dividing<remainder>>(without_pointers(in));
    case ceildivui:
      return pick_unsigned<Dividing<ceiling>>(without_pointers(in));
  }
  return nullptr;
}

}  // namespace triton_runner::num::SIMD_ISA
