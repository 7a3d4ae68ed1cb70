// Integer division and remainder; nothing traps. Division by 0 gives what NVIDIA GPUs compute: all ones as quotient and as
// remainder, the dividend as a remainder that is made from the quotient. LLVM divides 64 bits as 32 where both
// operands have no more.
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

// T is the element read as signed or unsigned.
template <class T, class F>
void loop(void* out, const void* a, const void* b, const void*, int64_t n) {
  using U = unsign<T>;
  auto* o = static_cast<U*>(out);
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(b);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T d = y[i];
    auto q = static_cast<U>(div_int{}(x[i], d));
    q = d == 0 ? quotient_by_zero(static_cast<U>(x[i])) : q;
    const U r = sub{}(static_cast<U>(x[i]), mul{}(q, static_cast<U>(d)));
    o[i] = F{}(Parts<U, T>{q, r, x[i], d});
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
  return by_width<Loop>(in, loop<int8_t, F>, loop<int16_t, F>, loop<int32_t, F>, loop<int64_t, F>);
}
template <class F>
Loop pick_unsigned(Type in) {
  return by_width<Loop>(without_pointers(in), loop<uint8_t, F>, loop<uint16_t, F>, loop<uint32_t, F>,
                        loop<uint64_t, F>);
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
