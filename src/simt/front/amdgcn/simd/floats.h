// Has halves, and minima and maxima of floats by the rules of AMD's instructions: without branches, so that loops over lanes
// vectorise.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include <triton_runner/num/formats.h>
#include <triton_runner/num/types.h>

namespace triton_runner::simt::amd::SIMD_ISA {
namespace {

using num::Type;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

struct half {  // its bits
  u16 bits;
};

float wide(half h) { return num::SIMD_ISA::decode<num::SIMD_ISA::kF16Format>(h.bits); }
half narrow(float x) {
  return {static_cast<u16>(num::SIMD_ISA::F16::encode<num::Rounding::kNearestEven>(x))};
}
half narrow(double x) { return {static_cast<u16>(num::from_double(x, Type::kF16))}; }
// A lane mask's element.
struct flag {
  int8_t bits;
  flag() = default;
  flag(bool is) : bits(is ? -1 : 0) {}
};

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, u32, u64>;
template <class T>
constexpr BitsOf<T> kQuiet = BitsOf<T>{1} << (sizeof(T) == 4 ? 22 : 51);
template <class T>
bool is_signaling(T x) {
  return x != x && !(std::bit_cast<BitsOf<T>>(x) & kQuiet<T>);
}
template <class T>
T quiet(T x) {  // of a NaN
  return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(x) | kQuiet<T>);
}
// The number of the two where one is a NaN; a signaling NaN is the result, as a quiet one.
template <class T>
T number_of(T a, T b, T of_numbers) {
  const T of_b = is_signaling(b) ? quiet(b) : a, of_a = is_signaling(a) ? quiet(a) : b != b ? quiet(b) : b;
  return a != a ? of_a : b != b ? of_b : of_numbers;
}
template <class T>
T smaller(T a, T b) {  // of 0 and -0 -0
  const T same = std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) | std::bit_cast<BitsOf<T>>(b));
  return number_of(a, b, a < b ? a : a > b ? b : same);
}
template <class T>
T larger(T a, T b) {
  const T same = std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) & std::bit_cast<BitsOf<T>>(b));
  return number_of(a, b, a > b ? a : a < b ? b : same);
}

}  // namespace
}  // namespace triton_runner::simt::amd::SIMD_ISA
