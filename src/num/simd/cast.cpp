// Has the casts between integers, between integers and floats, and between floats, one type at a time;
// bitcast and select. Tiles of narrow floats are widened in convert.cpp.
#include <triton_runner/num/by_size.h>

#include "simd/common.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

// Integers

struct convert_int {  // sign or zero extension by the signedness of In, or truncation
  template <class In>
  NUM_INLINE In operator()(In x) const {
    return x;
  }
};
struct negate_i1 {
  NUM_INLINE int8_t operator()(int8_t x) const { return static_cast<int8_t>(-x); }
};
struct low_bit {
  template <class In>
  NUM_INLINE uint8_t operator()(In x) const {
    return x & 1;
  }
};

template <class In>
Loop int_to(Type out) {
  if (out == Type::kI1) return map<1, uint8_t, In, low_bit>;
  return by_width<Loop>(without_pointers(out), map<1, int8_t, In, convert_int>,
                        map<1, int16_t, In, convert_int>, map<1, int32_t, In, convert_int>,
                        map<1, int64_t, In, convert_int>);
}

Loop extend_signed(Type in, Type out) {
  if (in == Type::kI1) {  // true is -1
    if (out == Type::kI1) return map<1, int8_t, int8_t, convert_int>;
    return by_width<Loop>(out, map<1, int8_t, int8_t, negate_i1>, map<1, int16_t, int8_t, negate_i1>,
                          map<1, int32_t, int8_t, negate_i1>, map<1, int64_t, int8_t, negate_i1>);
  }
  const auto to =
      by_width(without_pointers(in), int_to<int8_t>, int_to<int16_t>, int_to<int32_t>, int_to<int64_t>);
  return to ? to(out) : nullptr;
}

// i1 is a byte of 0 or 1.
Type byte_of_i1(Type type) { return type == Type::kI1 ? Type::kI8 : type; }

Loop extend_unsigned(Type in, Type out) {
  const auto to = by_width(without_pointers(byte_of_i1(in)), int_to<uint8_t>, int_to<uint16_t>,
                           int_to<uint32_t>, int_to<uint64_t>);
  return to ? to(out) : nullptr;
}

// Integers to floats

template <bool kI1Signed>
struct int_value {  // an integer as f32 or f64, rounded once
  template <class In>
  NUM_INLINE In operator()(In x) const {
    return kI1Signed ? static_cast<In>(-x) : x;
  }
};

inline double to_odd53(int32_t x) { return x; }
inline double to_odd53(uint32_t x) { return x; }
inline double to_odd53(uint64_t x) { return static_cast<double>(odd_low(x)); }
inline double to_odd53(int64_t x) {
  const double value = to_odd53(x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x));
  return x < 0 ? -value : value;
}

template <Type kTo, Rounding kRounding>
Loop narrow_to() {
  static const Loop narrow = find_narrow(kTo, kRounding);
  return narrow;
}

// Makes f32 of integers, rounded to odd, by chunks, and of these elements of `size` bytes.
template <class In, class Wide, bool kI1Signed>
NUM_SHARED void int_through_f32(void* out, const void* a, int64_t n, Loop narrow, int size) {
  auto* x = static_cast<const In*>(a);
  alignas(64) float y[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    int64_t m = n - i < kChunk ? n - i : kChunk;
    for (int64_t j = 0; j < m; ++j) {
      Wide value = x[i + j];
      y[j] = to_odd(to_odd53(kI1Signed ? static_cast<Wide>(0 - value) : value));
    }
    narrow(static_cast<char*>(out) + i * size, y, nullptr, nullptr, m);
  }
}
template <class In, class Wide, bool kI1Signed, Type kTo>
void int_to_narrow(void* out, const void* a, const void*, const void*, int64_t n) {
  int_through_f32<In, Wide, kI1Signed>(out, a, n, narrow_to<kTo, Rounding::kNearestEven>(),
                                       size_of_float(kTo));
}

template <class In, class Wide, bool kI1Signed = false>
Loop int_to_float(Type out) {
  switch (out) {
    case Type::kF32:
      return map<1, float, In, int_value<kI1Signed>>;
    case Type::kF64:
      return map<1, double, In, int_value<kI1Signed>>;
#define CASE(type) \
  case Type::type: \
    return int_to_narrow<In, Wide, kI1Signed, Type::type>;
      CASE(kTF32)
      NUM_F32_CONTAINED(CASE)
#undef CASE
    default:
      return nullptr;
  }
}

Loop signed_to_float(Type in, Type out) {
  const auto to = in == Type::kI1
                      ? int_to_float<int8_t, int32_t, true>
                      : by_width(in, int_to_float<int8_t, int32_t>, int_to_float<int16_t, int32_t>,
                                 int_to_float<int32_t, int32_t>, int_to_float<int64_t, int64_t>);
  return to ? to(out) : nullptr;
}

Loop unsigned_to_float(Type in, Type out) {
  const auto to = by_width(byte_of_i1(in), int_to_float<uint8_t, uint32_t>, int_to_float<uint16_t, uint32_t>,
                           int_to_float<uint32_t, uint32_t>, int_to_float<uint64_t, uint64_t>);
  return to ? to(out) : nullptr;
}

// Floats to integers

// Toward zero with saturation at the width of the cvt, Wide (16 bits or more), of which Out keeps the low
// bits.
template <class Wide, bool kOneBit = false>
struct to_int {
  template <class T>
  NUM_INLINE Wide operator()(T x) const {
    constexpr bool kSigned = static_cast<Wide>(-1) < Wide{0};
    constexpr int kBits = sizeof(Wide) * 8;
    constexpr double kHigh = (kSigned ? 0x1p15 : 0x1p16) * (kBits == 16   ? 1.0
                                                            : kBits == 32 ? 0x1p16
                                                                          : 0x1p48);
    constexpr double kLow = kSigned ? -kHigh : 0.0;
    constexpr Wide kMin = kSigned ? static_cast<Wide>(Wide{1} << (kBits - 1)) : Wide{0};
    constexpr Wide kMax = static_cast<Wide>(~kMin);
    constexpr Wide kNan = sizeof(T) == 8 || kBits == 64 ? static_cast<Wide>(Wide{1} << (kBits - 1)) : Wide{0};
    double value = x;
    bool low = value <= kLow, high = value >= kHigh, inside = (value > kLow) & (value < kHigh);
    Wide result = static_cast<Wide>(inside ? value : 0.0);
    result = low ? kMin : result;
    result = high ? kMax : result;
    result = value != value ? kNan : result;
    return kOneBit ? result & 1 : result;
  }
};

// The types are all signed or all unsigned.
template <class T8, class T16, class T32, class T64>
Loop float_to_int(Type in, Type out) {
  const auto from = out == Type::kI1
                        ? float_loop_to<1, T8, to_int<T16, true>>
                        : by_width(out, float_loop_to<1, T8, to_int<T16>>, float_loop_to<1, T16, to_int<T16>>,
                                   float_loop_to<1, T32, to_int<T32>>, float_loop_to<1, T64, to_int<T64>>);
  return from ? from(in) : nullptr;
}

// Floats to floats

template <Rounding kRounding>
struct f64_to_f32 {
  NUM_INLINE float operator()(double x) const {
    float near = static_cast<float>(x);
    uint32_t bits = bits_as<uint32_t>(near);
    bool above = __builtin_fabs(static_cast<double>(near)) > __builtin_fabs(x);
    bits = kRounding == Rounding::kTowardZero && above ? bits - 1 : bits;
    return bits_as<float>(x != x ? 0x7fffffffu : bits);
  }
};
struct f64_to_odd {
  NUM_INLINE float operator()(double x) const { return to_odd(x); }
};
struct f32_to_f64 {
  NUM_INLINE double operator()(float x) const { return x; }
};

// From -> f32 -> To by chunks; either side may be f64, which comes in rounded to odd.
template <Type kFrom>
Loop to_f32() {
  static const Loop widen = kFrom == Type::kF64    ? map<1, float, double, f64_to_odd>
                            : kFrom == Type::kTF32 ? find_widen(Type::kF32)
                                                   : find_widen(kFrom);
  return widen;
}
NUM_SHARED void float_through_f32(void* out, const void* a, int64_t n, Loop widen, Loop narrow, int from_size,
                                  int to_size) {
  alignas(64) float x[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    int64_t m = n - i < kChunk ? n - i : kChunk;
    widen(x, static_cast<const char*>(a) + i * from_size, nullptr, nullptr, m);
    narrow(static_cast<char*>(out) + i * to_size, x, nullptr, nullptr, m);
  }
}
template <Type kFrom, Type kTo, Rounding kRounding>
void float_to_float(void* out, const void* a, const void*, const void*, int64_t n) {
  Loop narrow;
  if constexpr (kTo == Type::kF64)
    narrow = map<1, double, float, f32_to_f64>;
  else
    narrow = narrow_to<kTo, kRounding>();
  float_through_f32(out, a, n, to_f32<kFrom>(), narrow, size_of_float(kFrom), size_of_float(kTo));
}

template <int kSize>
void copy_bits(void* out, const void* a, const void*, const void*, int64_t n) {
  __builtin_memmove(out, a, static_cast<size_t>(n) * kSize);
}

#define NUM_NARROW_FLOATS(X) NUM_F32_CONTAINED(X) X(kF8E8M0FNU) X(kF6E2M3FN) X(kF6E3M2FN) X(kF4E2M1FN)

template <Type kFrom, Rounding kRounding>
Loop float_from(Type out) {
  switch (out) {
#define CASE(type) \
  case Type::type: \
    return float_to_float<kFrom, Type::type, kRounding>;
    CASE(kF64)
    CASE(kTF32)
    NUM_NARROW_FLOATS(CASE)
#undef CASE
    default:
      return nullptr;
  }
}

Loop copy_of(int size) {
  return by_size(static_cast<size_t>(size), [](auto x) -> Loop { return copy_bits<sizeof(x)>; });
}

template <Rounding kRounding>
Loop float_conversion(Type in, Type out) {
  if (in == out && in != Type::kTF32) return copy_of(size_of_float(in));  // every bit, NaNs too
  if (in == Type::kTF32) in = Type::kF32;
  if (in == Type::kF32 && out == Type::kF64) return map<1, double, float, f32_to_f64>;
  if (in == Type::kF64 && out == Type::kF32) return map<1, float, double, f64_to_f32<kRounding>>;
  if (in == Type::kF32) return find_narrow(out, kRounding);
  if (out == Type::kF32) return find_widen(in);
  switch (in) {
#define CASE(type) \
  case Type::type: \
    return float_from<Type::type, kRounding>(out);
    CASE(kF64)
    NUM_NARROW_FLOATS(CASE)
#undef CASE
    default:
      return nullptr;
  }
}

// Select, bitcast

struct choose {
  template <class T>
  NUM_INLINE T operator()(uint8_t condition, T x, T y) const {
    return condition != 0 ? x : y;
  }
};

int storage(Type type) {
  type = without_pointers(byte_of_i1(type));
  return type <= Type::kI64 ? 1 << (static_cast<int>(type) - static_cast<int>(Type::kI8))
                            : size_of_float(type);
}

bool is_int(Type type) { return type <= Type::kI64 || type == Type::kPointer; }

}  // namespace

Loop find_cast(CastFunctor functor, Type in, Type out) {
  switch (functor) {
    case CastFunctor::select:
      if (in != out) return nullptr;
      return by_size(static_cast<size_t>(storage(in)), [](auto x) -> Loop {
        using T = decltype(x);
        return map<3, T, T, choose, uint8_t>;
      });
    case CastFunctor::bitcast:
      return storage(in) == storage(out) ? copy_of(storage(in)) : nullptr;
    case CastFunctor::extsi:
    case CastFunctor::index_cast:
      return extend_signed(in, out);
    case CastFunctor::extui:
    case CastFunctor::trunci:
    case CastFunctor::index_castui:
      return extend_unsigned(in, out);
    case CastFunctor::sitofp:
      return signed_to_float(in, out);
    case CastFunctor::uitofp:
      return unsigned_to_float(in, out);
    case CastFunctor::fptosi:
      return float_to_int<int8_t, int16_t, int32_t, int64_t>(in, out);
    case CastFunctor::fptoui:
      return float_to_int<uint8_t, uint16_t, uint32_t, uint64_t>(in, out);
    case CastFunctor::extf:
    case CastFunctor::truncf:
    case CastFunctor::fp_to_fp_rtne:
      return is_int(in) || is_int(out) ? nullptr : float_conversion<Rounding::kNearestEven>(in, out);
    case CastFunctor::fp_to_fp_rtz:
      return is_int(in) || is_int(out) ? nullptr : float_conversion<Rounding::kTowardZero>(in, out);
  }
  return nullptr;
}

}  // namespace triton_runner::num::SIMD_ISA
