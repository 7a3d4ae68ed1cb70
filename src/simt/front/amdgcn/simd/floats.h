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
using BitsOf = std::conditional_t<sizeof(T) == 2, u16, std::conditional_t<sizeof(T) == 4, u32, u64>>;
template <class T>
constexpr BitsOf<T> kQuiet = BitsOf<T>(BitsOf<T>{1} << (sizeof(T) == 2   ? 9
                                                        : sizeof(T) == 4 ? 22
                                                                         : 51));
template <class T>
bool is_signaling(T x) {
  return x != x && !(std::bit_cast<BitsOf<T>>(x) & kQuiet<T>);
}
float value_of(half h) { return wide(h); }
float value_of(float x) { return x; }
double value_of(double x) { return x; }

// Says what a minimum or maximum gives where one of the two is a NaN. kIeee (CDNA and RDNA 3, in IEEE mode): a signaling NaN, as a
// quiet one, else the number. kNumber (RDNA 4): the number. kNan ("minimum" and "maximum"): the NaN. The ISA documents, V_MIN_F32,
// V_MIN_NUM_F32 and V_MINIMUM_F32.
enum class OfNan : uint8_t { kIeee, kNumber, kNan };
template <OfNan kOf, bool kIsMax, class T>
T extreme(T a, T b) {
  using Bits = BitsOf<T>;
  const auto x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  const auto p = value_of(a), q = value_of(b);
  const bool no_a = p != p, no_b = q != q;
  const bool signals_a = no_a & !(x & kQuiet<T>), signals_b = no_b & !(y & kQuiet<T>);
  const Bits same = kIsMax ? x & y : x | y;  // of 0 and -0
  const Bits of_numbers = p < q ? (kIsMax ? y : x) : p > q ? (kIsMax ? x : y) : same;
  const Bits quiet_a = x | kQuiet<T>, quiet_b = y | kQuiet<T>;
  Bits of_nan = no_a ? y : x;
  if constexpr (kOf == OfNan::kNumber)
    of_nan = no_a & no_b ? quiet_a : of_nan;
  else if constexpr (kOf == OfNan::kNan)
    of_nan = signals_a ? quiet_a : signals_b ? quiet_b : no_a ? x : y;
  else
    of_nan = signals_a ? quiet_a : signals_b ? quiet_b : of_nan;
  return std::bit_cast<T>(no_a | no_b ? of_nan : of_numbers);
}

}  // namespace
}  // namespace triton_runner::simt::amd::SIMD_ISA
