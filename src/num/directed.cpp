// Computes in integers, then rounds. A finite number is its sign, a mantissa of up to 128 bits and a power of
// two. Each operation gives its result like that, exactly, except that what would not fit is one sticky bit
// at the low end: enough to round any way.
#include "directed.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace triton_runner::num {
namespace {

using Wide = unsigned __int128;

struct Exact {
  bool negative;
  int exponent;  // of the mantissa's lowest bit
  Wide mantissa;
};

int width(Wide m) {
  const auto high = static_cast<uint64_t>(m >> 64);
  return high ? 64 + static_cast<int>(std::bit_width(high))
              : static_cast<int>(std::bit_width(static_cast<uint64_t>(m)));
}

template <class T>
Exact exact(T x) {
  int exponent = 0;
  const T fraction = std::frexp(std::fabs(x), &exponent);
  constexpr int kDigits = std::numeric_limits<T>::digits;
  return {std::signbit(x), exponent - kDigits, static_cast<uint64_t>(std::ldexp(fraction, kDigits))};
}

// m / 2^by, with a sticky bit for what is lost.
Wide shift_right(Wide m, int by) {
  if (by <= 0) return m;
  if (by >= 128) return m != 0;
  const Wide kept = m >> by;
  return kept | static_cast<Wide>((kept << by) != m);
}

template <class T>
T round_to(const Exact& x, Direction to) {
  using Limits = std::numeric_limits<T>;
  constexpr int kLowest = Limits::min_exponent - Limits::digits;  // exponent of the smallest subnormal
  const int lsb = std::max(x.exponent + width(x.mantissa) - Limits::digits, kLowest);
  const int drop = lsb - x.exponent;
  uint64_t kept;
  bool lost = false, more_than_half = false, half = false;
  if (drop <= 0) {
    kept = static_cast<uint64_t>(x.mantissa << -drop);
  } else if (drop > 127) {
    kept = 0;
    lost = true;
  } else {
    kept = static_cast<uint64_t>(x.mantissa >> drop);
    const Wide rest = x.mantissa - (x.mantissa >> drop << drop), middle = static_cast<Wide>(1) << (drop - 1);
    lost = rest != 0;
    half = rest == middle;
    more_than_half = rest > middle;
  }
  switch (to) {
    case Direction::kNearest:
      kept += more_than_half || (half && (kept & 1));
      break;
    case Direction::kNearestAway:
      kept += more_than_half || half;
      break;
    case Direction::kZero:
      break;
    case Direction::kDownward:
      kept += lost && x.negative;
      break;
    case Direction::kUpward:
      kept += lost && !x.negative;
      break;
  }
  T value = std::ldexp(static_cast<T>(kept), lsb);
  const bool away = to == Direction::kNearest || to == Direction::kNearestAway ||
                    to == (x.negative ? Direction::kDownward : Direction::kUpward);
  if (std::isinf(value) && !away) value = Limits::max();
  return x.negative ? -value : value;
}

// The sum, neither being 0; a mantissa of 0 where it is.
Exact sum(Exact a, Exact b) {
  // The highest bits at 125; what is shifted out of the smaller one is far below the other's lowest bit.
  for (Exact* x : {&a, &b}) {
    const int up = 126 - width(x->mantissa);
    x->mantissa <<= up;
    x->exponent -= up;
  }
  if (a.exponent < b.exponent) std::swap(a, b);
  b.mantissa = shift_right(b.mantissa, a.exponent - b.exponent);
  if (a.negative == b.negative) return {a.negative, a.exponent, a.mantissa + b.mantissa};
  if (a.mantissa >= b.mantissa) return {a.negative, a.exponent, a.mantissa - b.mantissa};
  return {b.negative, a.exponent, b.mantissa - a.mantissa};
}

Exact product(const Exact& a, const Exact& b) {
  return {a.negative != b.negative, a.exponent + b.exponent, a.mantissa * b.mantissa};
}

template <class T>
bool ordinary(T x) {
  return std::isfinite(x) && x != 0;
}

template <class T>
T zero_sum(Direction to) {
  return to == Direction::kDownward ? T{-0.0} : T{0.0};
}

template <class T>
T round_sum(const Exact& total, Direction to) {
  return total.mantissa == 0 ? zero_sum<T>(to) : round_to<T>(total, to);
}

}  // namespace

template <class T>
T add_directed(T a, T b, Direction to) {
  if (ordinary(a) && ordinary(b)) return round_sum<T>(sum(exact(a), exact(b)), to);
  if (a == 0 && b == 0 && std::signbit(a) != std::signbit(b)) return zero_sum<T>(to);
  return a + b;
}

template <class T>
T mul_directed(T a, T b, Direction to) {
  return ordinary(a) && ordinary(b) ? round_to<T>(product(exact(a), exact(b)), to) : a * b;
}

template <class T>
T div_directed(T a, T b, Direction to) {
  if (!ordinary(a) || !ordinary(b)) return a / b;
  Exact x = exact(a);
  const Exact y = exact(b);
  const int up = 127 - width(x.mantissa);
  x.mantissa <<= up;
  const Wide quotient = x.mantissa / y.mantissa;
  return round_to<T>({x.negative != y.negative, x.exponent - up - y.exponent - 1,
                      quotient << 1 | static_cast<Wide>(quotient * y.mantissa != x.mantissa)},
                     to);
}

template <class T>
T sqrt_directed(T a, Direction to) {
  if (!ordinary(a) || a < 0) return std::sqrt(a);
  Exact x = exact(a);
  int up = 126 - width(x.mantissa);
  up -= (x.exponent - up) & 1;  // an even exponent
  x.mantissa <<= up;
  x.exponent -= up;
  Wide root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const Wide next = root | static_cast<Wide>(1) << bit;
    if (next * next <= x.mantissa) root = next;
  }
  return round_to<T>({false, x.exponent / 2 - 1, root << 1 | static_cast<Wide>(root * root != x.mantissa)},
                     to);
}

template <class T>
T fma_directed(T a, T b, T c, Direction to) {
  if (!ordinary(a) || !ordinary(b)) return add_directed(a * b, c, to);
  if (!std::isfinite(c)) return c;
  const Exact p = product(exact(a), exact(b));
  return c == 0 ? round_to<T>(p, to) : round_sum<T>(sum(p, exact(c)), to);
}

template <class T>
T from_int_directed(uint64_t magnitude, bool negative, Direction to) {
  return magnitude == 0 ? T{0} : round_to<T>({negative, 0, magnitude}, to);
}

float narrow_directed(double a, Direction to) {
  return ordinary(a) ? round_to<float>(exact(a), to) : static_cast<float>(a);
}

#define INSTANTIATE(T)                         \
  template T add_directed(T, T, Direction);    \
  template T mul_directed(T, T, Direction);    \
  template T div_directed(T, T, Direction);    \
  template T sqrt_directed(T, Direction);      \
  template T fma_directed(T, T, T, Direction); \
  template T from_int_directed(uint64_t, bool, Direction);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace triton_runner::num
