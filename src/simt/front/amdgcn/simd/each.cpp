// Computes what rows that say EACH ask for of one lane: each_<f>, as the ISA's documents have it ("Vector ALU operations", "Scalar ALU
// operations" of AMD's CDNA 3 and RDNA 3 instruction set architectures). Functions whose table AMD does not publish (exp, log,
// rcp, rsq, sin, cos) are rounded correctly; AMD allows 1 ULP.
// Compiled once an instruction set, as src/lanes/simd is: nothing of other headers may be emitted out of line.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include <triton_runner/amdgcn/opcode.h>
#include <triton_runner/lanes/lanes.h>
#include <triton_runner/num/formats.h>
#include <triton_runner/num/types.h>

#include "front/amdgcn/simd/exp2.h"
#include "front/amdgcn/simd/floats.h"
#include "front/amdgcn/simd/tables.h"

namespace triton_runner::simt::amd::SIMD_ISA {
namespace {

using lanes::Handler;
using lanes::Lanes;
using lanes::Operands;
using u8 = uint8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
// --- bits ------------------------------------------------------------------------------------------------------------
template <class T>
T shifted_left(T a, u32 n) {
  return a << (n & (8 * sizeof(T) - 1));
}
template <class T>
T shifted_right(T a, u32 n) {
  return static_cast<T>(a >> (n & (8 * sizeof(T) - 1)));
}
u32 each_shift_left_32(u32 a, u32 n) { return shifted_left(a, n); }
u64 each_shift_left_64(u64 a, u32 n) { return shifted_left(a, n); }
u32 each_shift_right_32(u32 a, u32 n) { return shifted_right(a, n); }
u64 each_shift_right_64(u64 a, u32 n) { return shifted_right(a, n); }
i32 each_shift_signed_32(i32 a, u32 n) { return shifted_right(a, n); }
i64 each_shift_signed_64(i64 a, u32 n) { return shifted_right(a, n); }
u32 each_lshlrev_32(u32 n, u32 a) { return shifted_left(a, n); }
u32 each_lshrrev_32(u32 n, u32 a) { return shifted_right(a, n); }
i32 each_ashrrev_32(u32 n, i32 a) { return shifted_right(a, n); }
u64 each_lshlrev_64(u32 n, u64 a) { return shifted_left(a, n); }
u64 each_lshrrev_64(u32 n, u64 a) { return shifted_right(a, n); }
i64 each_ashrrev_64(u32 n, i64 a) { return shifted_right(a, n); }
u16 each_lshlrev_16(u16 n, u16 a) { return static_cast<u16>(a << (n & 15)); }
u16 each_lshrrev_16(u16 n, u16 a) { return static_cast<u16>(a >> (n & 15)); }
i16 each_ashrrev_16(u16 n, i16 a) { return static_cast<i16>(a >> (n & 15)); }

template <class T>
i32 first_one(T a) {
  return a ? std::countr_zero(a) : -1;
}
template <class T>
i32 first_bit(T a) {
  return a ? std::countl_zero(a) : -1;
}
i32 each_first_one_32(u32 a) { return first_one(a); }
i32 each_first_one_64(u64 a) { return first_one(a); }
i32 each_first_zero_32(u32 a) { return first_one(~a); }
i32 each_first_zero_64(u64 a) { return first_one(~a); }
i32 each_first_bit_32(u32 a) { return first_bit(a); }
i32 each_first_bit_64(u64 a) { return first_bit(a); }
i32 each_first_change(u32 a) { return first_bit(static_cast<i32>(a) < 0 ? ~a : a); }
i32 each_first_change_64(u64 a) { return first_bit(static_cast<i64>(a) < 0 ? ~a : a); }
u32 each_count_bits(u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; }
u32 each_count_zeros_32(u32 a) { return static_cast<u32>(std::popcount(~a)); }
u32 each_count_zeros_64(u64 a) { return static_cast<u32>(std::popcount(~a)); }
i32 each_extend_8(i32 a) { return static_cast<int8_t>(a); }
i32 each_extend_16(i32 a) { return static_cast<i16>(a); }

// A field of scalars: bits 0 to 5 of b are where it begins, bits 16 to 22 how many it has.
template <class T>
T field(T a, u32 b) {
  constexpr u32 kBits = 8 * sizeof(T);
  const u32 from = b & (kBits - 1), count = b >> 16 & 127;
  if (count == 0) return 0;
  const T moved = static_cast<T>(a >> from);
  const u32 unused = count >= kBits ? 0 : kBits - count;
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<T>(static_cast<U>(moved) << unused) >> unused);
}
u32 each_field_unsigned_32(u32 a, u32 b) { return field(a, b); }
u64 each_field_unsigned_64(u64 a, u32 b) { return field(a, b); }
i32 each_field_signed_32(i32 a, u32 b) { return field(a, b); }
i64 each_field_signed_64(i64 a, u32 b) { return field(a, b); }
u32 each_field_mask_32(u32 count, u32 from) { return ((1u << (count & 31)) - 1) << (from & 31); }
u64 each_field_mask_64(u32 count, u32 from) { return ((u64{1} << (count & 63)) - 1) << (from & 63); }
u32 each_bfe_u32(u32 a, u32 from, u32 count) { return a >> (from & 31) & ((1u << (count & 31)) - 1); }
i32 each_bfe_i32(i32 a, u32 from, u32 count) {
  const u32 n = count & 31;
  if (n == 0) return 0;
  return static_cast<i32>(static_cast<u32>(a >> (from & 31)) << (32 - n)) >> (32 - n);
}
u32 each_bfi(u32 mask, u32 a, u32 b) { return (mask & a) | (~mask & b); }
u32 each_xnor(u32 a, u32 b) { return ~(a ^ b); }
u32 each_and_or(u32 a, u32 b, u32 c) { return (a & b) | c; }
u32 each_or3(u32 a, u32 b, u32 c) { return a | b | c; }
u32 each_xor3(u32 a, u32 b, u32 c) { return a ^ b ^ c; }
u32 each_xad(u32 a, u32 b, u32 c) { return (a ^ b) + c; }
u32 each_add3(u32 a, u32 b, u32 c) { return a + b + c; }
u32 each_lshl_add(u32 a, u32 n, u32 b) { return (a << (n & 31)) + b; }
u32 each_lshl_or(u32 a, u32 n, u32 b) { return (a << (n & 31)) | b; }
u32 each_add_lshl(u32 a, u32 b, u32 n) { return (a + b) << (n & 31); }
u64 each_lshl_add_64(u64 a, u32 n, u64 b) { return (a << (n & 7)) + b; }
u32 each_alignbit(u32 a, u32 b, u32 n) { return static_cast<u32>((u64{a} << 32 | b) >> (n & 31)); }
u32 each_alignbyte(u32 a, u32 b, u32 n) { return static_cast<u32>((u64{a} << 32 | b) >> (8 * (n & 3))); }
u32 each_sad(u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; }
u32 each_perm(u32 a, u32 b, u32 selector) {
  const u64 bytes = u64{a} << 32 | b;
  u32 out = 0;
  for (u32 k = 0; k < 4; ++k) {
    const u32 s = selector >> (8 * k) & 255;
    const u32 byte = s >= 13   ? 0xff
                     : s == 12 ? 0
                     : s >= 8  ? (bytes >> (16 * (s - 8) + 15) & 1 ? 0xff : 0)
                               : bytes >> (8 * s) & 255;
    out |= byte << (8 * k);
  }
  return out;
}
u32 each_pack_ll(u32 a, u32 b) { return (a & 0xffff) | b << 16; }
u32 each_pack_lh(u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); }
u32 each_pack_hl(u32 a, u32 b) { return a >> 16 | b << 16; }
u32 each_pack_hh(u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); }
u32 each_pack_halves(u16 a, u16 b) { return a | u32{b} << 16; }

// --- integers --------------------------------------------------------------------------------------------------------
i32 each_absolute(i32 a) { return static_cast<i32>(a < 0 ? 0u - static_cast<u32>(a) : static_cast<u32>(a)); }
i32 each_absolute_difference(i32 a, i32 b) {
  return each_absolute(static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b)));
}
u32 saturated_add(u32 a, u32 b) { return a + b < a ? 0xffffffff : a + b; }
u32 saturated_sub(u32 a, u32 b) { return a < b ? 0 : a - b; }
template <class T>
T sum_within(T a, T b) {
  return static_cast<T>(
      std::clamp<int>(int{a} + b, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
template <class T>
T difference_within(T a, T b) {
  return static_cast<T>(
      std::clamp<int>(int{a} - b, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
i32 within(i64 x) { return static_cast<i32>(std::clamp<i64>(x, INT32_MIN, INT32_MAX)); }
i32 signed_add(i32 a, i32 b) { return within(i64{a} + b); }
i32 signed_sub(i32 a, i32 b) { return within(i64{a} - b); }
u32 low24(u32 a) { return a & 0xffffff; }
i64 signed24(u32 a) { return static_cast<i32>(a << 8) >> 8; }
u32 each_mul_u24(u32 a, u32 b) { return low24(a) * low24(b); }
u32 each_mul_i24(u32 a, u32 b) { return static_cast<u32>(signed24(a) * signed24(b)); }
u32 each_mul_hi_u24(u32 a, u32 b) { return static_cast<u32>(u64{low24(a)} * low24(b) >> 32); }
u32 each_mul_hi_i24(u32 a, u32 b) { return static_cast<u32>(signed24(a) * signed24(b) >> 32); }
u32 each_mad_u24(u32 a, u32 b, u32 c) { return each_mul_u24(a, b) + c; }
u32 each_mad_i24(u32 a, u32 b, u32 c) { return each_mul_i24(a, b) + c; }
u32 each_mad_u16(u16 a, u16 b, u32 c) { return u32{a} * b + c; }
u32 each_mad_i16(i16 a, i16 b, u32 c) { return static_cast<u32>(i32{a} * b) + c; }
i32 each_min3_i32(i32 a, i32 b, i32 c) { return std::min({a, b, c}); }
u32 each_min3_u32(u32 a, u32 b, u32 c) { return std::min({a, b, c}); }
i32 each_max3_i32(i32 a, i32 b, i32 c) { return std::max({a, b, c}); }
u32 each_max3_u32(u32 a, u32 b, u32 c) { return std::max({a, b, c}); }
i16 each_min3_i16(i16 a, i16 b, i16 c) { return std::min({a, b, c}); }
u16 each_min3_u16(u16 a, u16 b, u16 c) { return std::min({a, b, c}); }
i16 each_max3_i16(i16 a, i16 b, i16 c) { return std::max({a, b, c}); }
u16 each_max3_u16(u16 a, u16 b, u16 c) { return std::max({a, b, c}); }
template <class T>
T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}
i32 each_med3_i32(i32 a, i32 b, i32 c) { return median(a, b, c); }
u32 each_med3_u32(u32 a, u32 b, u32 c) { return median(a, b, c); }
i16 each_med3_i16(i16 a, i16 b, i16 c) { return median(a, b, c); }
u16 each_med3_u16(u16 a, u16 b, u16 c) { return median(a, b, c); }

template <class T, class F>
u32 by_halves(u32 a, u32 b, F f) {
  const auto low = static_cast<u16>(f(static_cast<T>(a), static_cast<T>(b)));
  const auto high = static_cast<u16>(f(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return low | u32{high} << 16;
}
u32 each_pk_add_u16(u32 a, u32 b) {
  return by_halves<u16>(a, b, [](int x, int y) { return x + y; });
}
u32 each_pk_sub_u16(u32 a, u32 b) {
  return by_halves<u16>(a, b, [](int x, int y) { return x - y; });
}
u32 each_pk_add_i16(u32 a, u32 b) { return each_pk_add_u16(a, b); }
u32 each_pk_sub_i16(u32 a, u32 b) { return each_pk_sub_u16(a, b); }
template <class T, bool kSubtracts>
u32 pairs_within(u32 a, u32 b) {
  return by_halves<T>(a, b, [](int x, int y) {
    const T p = static_cast<T>(x), q = static_cast<T>(y);
    return kSubtracts ? difference_within(p, q) : sum_within(p, q);
  });
}
u32 each_pk_mul_lo_u16(u32 a, u32 b) {
  return by_halves<u16>(a, b, [](u32 x, u32 y) { return x * y; });
}
u32 each_pk_min_i16(u32 a, u32 b) {
  return by_halves<i16>(a, b, [](int x, int y) { return std::min(x, y); });
}
u32 each_pk_max_i16(u32 a, u32 b) {
  return by_halves<i16>(a, b, [](int x, int y) { return std::max(x, y); });
}
u32 each_pk_min_u16(u32 a, u32 b) {
  return by_halves<u16>(a, b, [](int x, int y) { return std::min(x, y); });
}
u32 each_pk_max_u16(u32 a, u32 b) {
  return by_halves<u16>(a, b, [](int x, int y) { return std::max(x, y); });
}
u32 each_pk_lshlrev_b16(u32 n, u32 a) {
  return by_halves<u16>(n, a, [](u32 x, u32 y) { return y << (x & 15); });
}
u32 each_pk_lshrrev_b16(u32 n, u32 a) {
  return by_halves<u16>(n, a, [](u32 x, u32 y) { return y >> (x & 15); });
}
u32 each_pk_ashrrev_i16(u32 n, u32 a) {
  return by_halves<i16>(n, a, [](int x, int y) { return y >> (x & 15); });
}
u32 each_pk_mad_u16(u32 a, u32 b, u32 c) { return each_pk_add_u16(each_pk_mul_lo_u16(a, b), c); }

// --- floats ------------------------------------------------------------------------------------------------------------
// ISA, V_MAD_F32: a product and a sum, each rounded, of which subnormals are zero whatever the mode is.
float without_subnormals(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}
float each_mad_f32(float a, float b, float c) {
  const float product = without_subnormals(without_subnormals(a) * without_subnormals(b));
  return without_subnormals(product + without_subnormals(c));
}
// Minima and maxima of two, and of three, by what becomes of NaNs (OfNan). min and max stand for the names of the two.
#define TWO(T, min, max, t, of)                                            \
  T each_##min##_##t(T a, T b) { return extreme<OfNan::of, false>(a, b); } \
  T each_##max##_##t(T a, T b) { return extreme<OfNan::of, true>(a, b); }
#define THREE(T, min, max, t)                                                                    \
  T each_##min##3_##t(T a, T b, T c) { return each_##min##_##t(each_##min##_##t(a, b), c); }     \
  T each_##max##3_##t(T a, T b, T c) { return each_##max##_##t(each_##max##_##t(a, b), c); }     \
  T each_##max##min##_##t(T a, T b, T c) { return each_##min##_##t(each_##max##_##t(a, b), c); } \
  T each_##min##max##_##t(T a, T b, T c) { return each_##max##_##t(each_##min##_##t(a, b), c); }
#define MEDIAN(T, t)                                                                             \
  T each_med3_##t(T a, T b, T c) {                                                               \
    const auto x = value_of(a), y = value_of(b), z = value_of(c);                                \
    if (x != x || y != y || z != z) return each_min3_##t(a, b, c);                               \
    const auto most = value_of(each_max3_##t(a, b, c));                                          \
    return most == x ? each_max_##t(b, c) : most == y ? each_max_##t(a, c) : each_max_##t(a, b); \
  }
#define TWOS(T, t)                   \
  TWO(T, min, max, t, kIeee)         \
  TWO(T, min, max, num_##t, kNumber) \
  TWO(T, minimum, maximum, t, kNan)
#define THREES(T, t)            \
  THREE(T, min, max, t)         \
  THREE(T, min, max, num_##t)   \
  THREE(T, minimum, maximum, t) \
  MEDIAN(T, t)                  \
  MEDIAN(T, num_##t)
TWOS(float, f32)
THREES(float, f32)
TWOS(half, f16)
THREES(half, f16)
TWOS(double, f64)
#undef TWOS
#undef THREES
#undef TWO
#undef THREE
#undef MEDIAN

template <class F, class... Words>
u32 of_half_pairs(F f, Words... words) {
  const auto at = [&](int bit) { return f(half{static_cast<u16>(words >> bit)}...).bits; };
  return at(0) | u32{at(16)} << 16;
}
u32 each_pk_minimum3_f16(u32 a, u32 b, u32 c) { return of_half_pairs(each_minimum3_f16, a, b, c); }
u32 each_pk_maximum3_f16(u32 a, u32 b, u32 c) { return of_half_pairs(each_maximum3_f16, a, b, c); }
u32 each_pk_minimum_f16(u32 a, u32 b) { return of_half_pairs(each_minimum_f16, a, b); }
u32 each_pk_maximum_f16(u32 a, u32 b) { return of_half_pairs(each_maximum_f16, a, b); }
u32 each_pk_min_f16(u32 a, u32 b) { return of_half_pairs(each_min_f16, a, b); }
u32 each_pk_max_f16(u32 a, u32 b) { return of_half_pairs(each_max_f16, a, b); }
u32 each_pk_min_num_f16(u32 a, u32 b) { return of_half_pairs(each_min_num_f16, a, b); }
u32 each_pk_max_num_f16(u32 a, u32 b) { return of_half_pairs(each_max_num_f16, a, b); }
i32 each_maxmin_i32(i32 a, i32 b, i32 c) { return std::min(std::max(a, b), c); }
i32 each_minmax_i32(i32 a, i32 b, i32 c) { return std::max(std::min(a, b), c); }
u32 each_maxmin_u32(u32 a, u32 b, u32 c) { return std::min(std::max(a, b), c); }
u32 each_minmax_u32(u32 a, u32 b, u32 c) { return std::max(std::min(a, b), c); }
double each_rcp_f64(double x) { return 1.0 / x; }
double each_rsq_f64(double x) { return static_cast<double>(1.0L / std::sqrt(static_cast<long double>(x))); }
double each_sqrt_f64(double x) { return std::sqrt(x); }
float each_rcp_f32(float x) { return 1.0f / x; }
float each_rsq_f32(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
float each_sqrt_f32(float x) { return std::sqrt(x); }
float each_exp_f32(float x) { return static_cast<float>(std::exp2(static_cast<double>(x))); }
float each_log_f32(float x) { return static_cast<float>(std::log2(static_cast<double>(x))); }
// The argument is in turns.
double turned(float x) {
  const double t = static_cast<double>(x);
  return 6.283185307179586476925286766559 * (t - std::floor(t));
}
float each_sin_f32(float x) { return std::isinf(x) ? NAN : static_cast<float>(std::sin(turned(x))); }
float each_cos_f32(float x) { return std::isinf(x) ? NAN : static_cast<float>(std::cos(turned(x))); }
half each_rcp_f16(half x) { return narrow(1.0 / wide(x)); }
half each_rsq_f16(half x) { return narrow(1.0 / std::sqrt(static_cast<double>(wide(x)))); }
half each_sqrt_f16(half x) { return narrow(std::sqrt(static_cast<double>(wide(x)))); }
half each_exp_f16(half x) { return narrow(std::exp2(static_cast<double>(wide(x)))); }
half each_log_f16(half x) { return narrow(std::log2(static_cast<double>(wide(x)))); }
half each_sin_f16(half x) { return narrow(each_sin_f32(wide(x))); }
half each_cos_f16(half x) { return narrow(each_cos_f32(wide(x))); }

#define ROUNDED(f, function)                              \
  float each_##f##_f32(float x) { return function(x); }   \
  double each_##f##_f64(double x) { return function(x); } \
  half each_##f##_f16(half x) { return narrow(function(wide(x))); }
ROUNDED(ceil, std::ceil)
ROUNDED(floor, std::floor)
ROUNDED(trunc, std::trunc)
ROUNDED(rndne, std::nearbyint)
#undef ROUNDED
float each_fract_f32(float x) { return std::min(x - std::floor(x), 0x1.fffffep-1f); }
double each_fract_f64(double x) { return std::min(x - std::floor(x), 0x1.fffffffffffffp-1); }
half each_fract_f16(half x) { return narrow(wide(x) - std::floor(wide(x))); }

template <class T>
T mantissa(T x) {
  int unused = 0;
  return std::isfinite(x) ? std::frexp(x, &unused) : x;
}
template <class T>
i32 exponent(T x) {
  int out = 0;
  if (!std::isfinite(x)) return 0;
  std::frexp(x, &out);
  return out;
}
float each_frexp_mant_f32(float x) { return mantissa(x); }
double each_frexp_mant_f64(double x) { return mantissa(x); }
half each_frexp_mant_f16(half x) { return narrow(mantissa(wide(x))); }
i32 each_frexp_exp_f32(float x) { return exponent(x); }
i32 each_frexp_exp_f64(double x) { return exponent(x); }
i16 each_frexp_exp_f16(half x) { return static_cast<i16>(exponent(wide(x))); }
float each_ldexp_32(float x, i32 n) {  // exact in f64
  const i32 by = n < -400 ? -400 : n > 400 ? 400 : n;
  return static_cast<float>(static_cast<double>(x) *
                            std::bit_cast<double>(static_cast<u64>(i64{by} + 1023) << 52));
}
double each_ldexp_64(double x, i32 n) { return std::ldexp(x, std::clamp(n, -4000, 4000)); }
half each_ldexp_16(half x, i16 n) { return narrow(std::ldexp(static_cast<double>(wide(x)), n)); }
float each_mul_legacy(float a, float b) { return a == 0 || b == 0 ? 0 : a * b; }

template <class T>
T div_fixup(T quotient, T denominator, T numerator) {
  using Bits = BitsOf<T>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1),
                 kInfinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  constexpr Bits kNan = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN()) | kSign;
  const Bits n = std::bit_cast<Bits>(numerator), d = std::bit_cast<Bits>(denominator),
             q = std::bit_cast<Bits>(quotient);
  const Bits sign = (n ^ d) & kSign, n_size = n & ~kSign, d_size = d & ~kSign;
  Bits out = sign | (q & ~kSign);
  out = d_size == kInfinity || n_size == 0 ? sign : out;
  out = d_size == 0 || n_size == kInfinity ? sign | kInfinity : out;
  out = (d_size == 0 && n_size == 0) || (d_size == kInfinity && n_size == kInfinity) ? kNan : out;
  out = d_size > kInfinity ? d | kQuiet<T> : out;
  out = n_size > kInfinity ? n | kQuiet<T> : out;
  return std::bit_cast<T>(out);
}
float each_div_fixup_f32(float q, float d, float n) { return div_fixup(q, d, n); }
double each_div_fixup_f64(double q, double d, double n) { return div_fixup(q, d, n); }
half each_div_fixup_f16(half q, half d, half n) { return narrow(div_fixup(wide(q), wide(d), wide(n))); }

// Bits of 2 / pi from `shift` on, 53 of them, as a number: what reducing a large argument multiplies by.
double each_trig_preop(double x, u32 segment) {
  static constexpr u32 kTwoOverPi[] = {
      0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
      0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
      0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
      0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
      0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};
  const auto field = static_cast<i32>(std::bit_cast<u64>(x) >> 52 & 0x7ff);
  i32 shift = static_cast<i32>(segment & 31) * 53 + std::max(field - 1077, 0);
  u64 bits = 0;
  for (i32 k = 0; k < 53; ++k) {
    const i32 at = shift + k;
    const bool bit =
        at < 32 * static_cast<i32>(std::size(kTwoOverPi)) && (kTwoOverPi[at / 32] >> (31 - at % 32) & 1);
    bits = bits << 1 | (bit ? 1 : 0);
  }
  return std::ldexp(static_cast<double>(bits), -53 - shift + (field >= 1968 ? 128 : 0));
}

// --- conversions -----------------------------------------------------------------------------------------------------------
template <class To, class From>
To to_integer(From x) {
  if (x != x) return 0;
  const From t = std::trunc(x);
  if (t <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (t >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(t);
}
i32 each_f32_to_i32(float x) { return to_integer<i32>(x); }
u32 each_f32_to_u32(float x) { return to_integer<u32>(x); }
float each_i32_to_f32(i32 x) { return static_cast<float>(x); }
float each_u32_to_f32(u32 x) { return static_cast<float>(x); }
half each_cvt_f16_f32(float x) { return narrow(x); }
float each_cvt_f32_f16(half x) { return wide(x); }
float each_cvt_hi_f32_f16(u32 x) { return wide({static_cast<u16>(x >> 16)}); }
double each_cvt_f64_f32(float x) { return x; }
float each_cvt_f32_f64(double x) { return static_cast<float>(x); }
float each_cvt_f32_i32(i32 x) { return static_cast<float>(x); }
float each_cvt_f32_u32(u32 x) { return static_cast<float>(x); }
i32 each_cvt_i32_f32(float x) { return to_integer<i32>(x); }
u32 each_cvt_u32_f32(float x) { return to_integer<u32>(x); }
double each_cvt_f64_i32(i32 x) { return x; }
double each_cvt_f64_u32(u32 x) { return x; }
i32 each_cvt_i32_f64(double x) { return to_integer<i32>(x); }
u32 each_cvt_u32_f64(double x) { return to_integer<u32>(x); }
half each_cvt_f16_i16(i16 x) { return narrow(static_cast<float>(x)); }
half each_cvt_f16_u16(u16 x) { return narrow(static_cast<float>(x)); }
i16 each_cvt_i16_f16(half x) { return to_integer<i16>(wide(x)); }
u16 each_cvt_u16_f16(half x) { return to_integer<u16>(wide(x)); }
float each_cvt_f32_ubyte0(u32 x) { return static_cast<float>(x & 255); }
float each_cvt_f32_ubyte1(u32 x) { return static_cast<float>(x >> 8 & 255); }
float each_cvt_f32_ubyte2(u32 x) { return static_cast<float>(x >> 16 & 255); }
float each_cvt_f32_ubyte3(u32 x) { return static_cast<float>(x >> 24); }
float each_cvt_f32_bf16(u16 x) { return std::bit_cast<float>(u32{x} << 16); }
i32 each_cvt_i32_i16(i16 x) { return x; }
u32 each_cvt_u32_u16(u16 x) { return x; }
i32 each_cvt_rpi_i32_f32(float x) { return to_integer<i32>(std::floor(x + 0.5f)); }
i32 each_cvt_flr_i32_f32(float x) { return to_integer<i32>(std::floor(x)); }
float each_cvt_off_f32_i4(u32 x) { return static_cast<float>(static_cast<i32>(x << 28) >> 28) / 16; }
u32 each_cvt_pk_u8_f32(float x, u32 byte, u32 kept) {
  const u32 at = 8 * (byte & 3);
  const auto value = static_cast<u32>(std::clamp(to_integer<i32>(x), 0, 255));
  return (kept & ~(255u << at)) | value << at;
}
template <class Codec, num::Rounding kRounding>
u32 halves(float a, float b) {
  return Codec::template encode<kRounding>(a) | Codec::template encode<kRounding>(b) << 16;
}
using F16 = num::SIMD_ISA::F16;
using BF16 = num::SIMD_ISA::BF16;
u32 each_cvt_pkrtz(float a, float b) { return halves<F16, num::Rounding::kTowardZero>(a, b); }
u32 each_cvt_pk_f16(float a, float b) { return halves<F16, num::Rounding::kNearestEven>(a, b); }
u32 each_cvt_pk_bf16(float a, float b) { return halves<BF16, num::Rounding::kNearestEven>(a, b); }
u32 each_cvt_pk_i16(i32 a, i32 b) {
  auto kept = [](i32 x) { return static_cast<u32>(std::clamp(x, -32768, 32767)) & 0xffff; };
  return kept(a) | kept(b) << 16;
}
u32 each_cvt_pk_i16_f32(float a, float b) {
  return each_pack_halves(static_cast<u16>(to_integer<i16>(a)), static_cast<u16>(to_integer<i16>(b)));
}
u32 each_cvt_pk_u16_f32(float a, float b) { return each_pack_halves(to_integer<u16>(a), to_integer<u16>(b)); }
u16 each_sat_pk_u8_i16(u32 a) {
  const auto byte = [](u32 x) { return static_cast<u32>(std::clamp<i32>(static_cast<i16>(x), 0, 255)); };
  return static_cast<u16>(byte(a) | byte(a >> 16) << 8);
}
u32 each_cvt_pk_u16(u32 a, u32 b) { return std::min(a, 0xffffu) | std::min(b, 0xffffu) << 16; }

// --- classes of floats: bits of b for a signaling and a quiet NaN, then -inf, -normal, -subnormal, -0, 0, subnormal, ... -----
template <class T, class Bits>
bool is_of_class(T x, Bits bits, bool signaling, u32 classes) {
  int k = 0;
  if (x != x) {
    k = signaling ? 0 : 1;
  } else {
    const int from_zero = std::isinf(x) ? 3 : x == 0 ? 0 : std::isnormal(x) ? 2 : 1;
    k = bits >> (8 * sizeof(Bits) - 1) ? 5 - from_zero : 6 + from_zero;
  }
  return classes >> k & 1;
}
flag each_class_f32(float x, u32 classes) {
  return is_of_class(x, std::bit_cast<u32>(x), is_signaling(x), classes);
}
flag each_class_f64(double x, u32 classes) {
  return is_of_class(x, std::bit_cast<u64>(x), is_signaling(x), classes);
}
flag each_class_f16(half h, u32 classes) {
  const u32 size = h.bits & 0x7fff;
  int k = 0;
  if (size > 0x7c00)
    k = h.bits >> 9 & 1 ? 1 : 0;
  else {
    const int from_zero = size == 0x7c00 ? 3 : size == 0 ? 0 : size >= 0x400 ? 2 : 1;
    k = h.bits >> 15 ? 5 - from_zero : 6 + from_zero;
  }
  return (classes >> k & 1) != 0;
}

// --- the handler of a function of one lane ---------------------------------------------------------------------------------
constexpr u32 kChunk = 256;  // lanes that pass through a buffer where some are off

// 2^x: where the fast way is unsure, one lane after the other.
void run_exp(float* d, u32 n, const float* a) {
  constexpr u32 kAtOnce = 64;
  alignas(64) u32 unsure[kAtOnce];
  alignas(64) float out[kAtOnce];
  for (u32 at = 0; at < n; at += kAtOnce) {
    const u32 m = n - at < kAtOnce ? 32 : kAtOnce;
#pragma GCC ivdep
    for (size_t i = 0; i < (m & ~31u); ++i) out[i] = exp2_of(a[at + i], &unsure[i]);
    u32 any = 0;
    for (u32 i = 0; i < m; ++i) any |= unsure[i];
    for (u32 i = 0; any && i < m; ++i)
      if (unsure[i]) out[i] = each_exp_f32(a[at + i]);
    __builtin_memcpy(d + at, out, m * sizeof *out);
  }
}

// Bytes by a selector that all lanes have: a step a byte.
void run_perm(u32* d, u32 n, const u32* a, const u32* b, const u32* selector) {
  n &= ~31u;
  u32 differs = 0;
  const u32 s = selector[0];
  for (size_t i = 0; i < n; ++i) differs |= selector[i] ^ s;
  if (differs || s & 0xf8f8f8f8) {
    for (size_t i = 0; i < n; ++i) d[i] = each_perm(a[i], b[i], selector[i]);
    return;
  }
  const auto from = [&](u32 k) { return s >> (8 * k) & 4 ? a : b; };
  const auto shift = [&](u32 k) { return 8 * (s >> (8 * k) & 3); };
  const u32 *b0 = from(0), *b1 = from(1), *b2 = from(2), *b3 = from(3), s0 = shift(0), s1 = shift(1),
            s2 = shift(2), s3 = shift(3);
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i)
    d[i] = (b0[i] >> s0 & 255) | (b1[i] >> s1 & 255) << 8 | (b2[i] >> s2 & 255) << 16 | (b3[i] >> s3) << 24;
}

template <class T>
void keep(T* d, const T* from, const int8_t* mask, u32 n) {  // where the mask is on
#pragma GCC ivdep
  for (size_t i = 0; i < (n & ~31u); ++i) d[i] = mask[i] ? from[i] : d[i];
}

// Runs the loop of a function on the lanes that are on; all functions of one type share this copy.
template <class D, class... A, size_t... kPlace>
NUM_SHARED void run_on(Lanes& l, const Operands& in, void (*loop)(D*, u32, const A*...),
                       std::index_sequence<kPlace...>) {
  using Bits = typename num::SIMD_ISA::UintOf<sizeof(D)>::type;
  const u32 places[] = {in.a, in.b, in.c, in.e};
  D* d = l.reg<D>(in.d);
  if (!l.mask) return loop(d, l.count, l.reg<const A>(places[kPlace])...);
  alignas(64) D kept[kChunk];
  for (u32 at = 0; at < l.count; at += kChunk) {
    const u32 n = l.count - at < kChunk ? l.count - at : kChunk;
    loop(kept, n, l.reg<const A>(places[kPlace]) + at...);
    keep(reinterpret_cast<Bits*>(d + at), reinterpret_cast<const Bits*>(kept), l.mask + at, n);
  }
}

template <auto kFunction>
struct Each;
template <class D, class... A, D (*kFunction)(A...)>
struct Each<kFunction> {
  static void loop(D* d, u32 n, const A*... a) {
    n &= ~31u;
    if constexpr (std::is_same_v<Each, Each<&each_exp_f32>>) return run_exp(d, n, a...);
    if constexpr (std::is_same_v<Each, Each<&each_perm>>) return run_perm(d, n, a...);
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) d[i] = kFunction(a[i]...);
  }
  static void run(Lanes& l, const Operands& in) { run_on(l, in, &loop, std::index_sequence_for<A...>()); }
};

constexpr Handler kHandlers[] = {
#define OP(name, operands, how) how,
#define LANES(...) nullptr
#define FLOAT(...) nullptr
#define REVERSED(...) nullptr
#define FLOAT_REVERSED(...) nullptr
#define LOGIC(...) nullptr
#define COMPARE(...) nullptr
#define LOWER(...) nullptr
#define EACH(f) &Each<&each_##f>::run
#define EACH_SCC(f) &Each<&each_##f>::run
#define EACH_MASK(f) &Each<&each_##f>::run
#include <triton_runner/amdgcn/opcodes.def>
};

}  // namespace

const Handler* each_handlers() { return kHandlers; }

Handler sum_handler(bool subtracts, bool is_signed, int which) {
  static constexpr Handler kSums[2][2][3] = {
      {{&Each<&sum_within<u16>>::run, &Each<&saturated_add>::run, &Each<&pairs_within<u16, false>>::run},
       {&Each<&sum_within<i16>>::run, &Each<&signed_add>::run, &Each<&pairs_within<i16, false>>::run}},
      {{&Each<&difference_within<u16>>::run, &Each<&saturated_sub>::run,
        &Each<&pairs_within<u16, true>>::run},
       {&Each<&difference_within<i16>>::run, &Each<&signed_sub>::run, &Each<&pairs_within<i16, true>>::run}}};
  return kSums[subtracts][is_signed][which];
}

}  // namespace triton_runner::simt::amd::SIMD_ISA
