// Converts single values (cvt, PTX ISA 9.7.9.21): they are read at the width of their registers, cut to the
// type they have, converted in one step, and written at the width of the result's register. Pairs are in
// cvt_pairs.cpp.
#include "simd/cvt.h"

#include <triton_runner/num/by_size.h>

namespace triton_runner::lanes::SIMD_ISA {
namespace {

// `small` of integers: bits of the source type | bits of the result type << 8 | kSourceSigned ...
constexpr u32 kSourceSigned = 1u << 16, kResultSigned = 1u << 17, kClamped = 1u << 18;

template <class D, class S>
struct cast {  // of f32 to f64: a NaN keeps its payload
  LANES_INLINE D operator()(S a) const { return D(a); }
};
// These read a register in its type S and write one in its type D, by steps on blocks of lanes. A step has one copy for all
// the conversions that have it: step(d, a, n), where n is a multiple of 32.
template <class D, class S, class Step>
LANES_INLINE void by_blocks(Lanes& x, const Operands& o, const Step& step) {
  const S* a = values<const S>(x, o.a);
  store<D, 1, true>(x, o.d, [=](D* d, u32 first, u32 n) {
    blocks(n, [&](size_t at, size_t m) { step(d + at, a + first + at, m); });
  });
}
LANES_INLINE u64 extended(u64 value, u32 bits, bool is_signed) {
  u32 shift = 64 - bits;
  return is_signed ? u64(int64_t(value << shift) >> shift) : value << shift >> shift;
}
// The steps that read and write integers, of which `bits` count.
template <class D, class S>
NUM_SHARED void extend_each(D* d, const S* a, size_t n, u32 bits, bool is_signed) {
  n &= ~size_t{31};
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) d[i] = D(extended(a[i], bits, is_signed));
}
NUM_SHARED void clamp_each(u64* values, size_t n, u32 how) {
  const u32 to = how >> 8 & 0xff;
  const bool from_signed = how & kSourceSigned, to_signed = how & kResultSigned;
  const u64 high = to_signed ? (u64(1) << (to - 1)) - 1 : ~u64(0) >> (64 - to), low = to_signed ? ~high : 0;
  for (size_t i = 0; i < n; ++i) {
    const u64 v = values[i];
    const int64_t s = int64_t(v);
    values[i] = !from_signed ? (v > high ? high : v)
                : to_signed  ? u64(s < int64_t(low)    ? int64_t(low)
                                   : s > int64_t(high) ? int64_t(high)
                                                       : s)
                : s < 0      ? 0
                : v > high   ? high
                             : v;
  }
}
template <class D, class S>
void int_general(Lanes& x, const Operands& o) {
  by_blocks<D, S>(x, o, [how = o.small](D* d, const S* a, size_t n) {
    u64 wide[kBlock];
    extend_each(wide, a, n, how & 0xff, how & kSourceSigned);
    if (how & kClamped) clamp_each(wide, n, how);
    extend_each(d, wide, n, how >> 8 & 0xff, how & kResultSigned);
  });
}

// Integer to float.
LANES_INLINE double sticky(u64 magnitude) {
  const u64 cut = odd_low(magnitude);
  return double(int64_t(cut >> 1)) * 2.0 + double(int64_t(cut & 1));
}
template <class T>  // F16, BF16
NUM_SHARED void halves_of(u16* d, const u64* wide, size_t n, u32 small, bool is_signed) {
  const Format& format = __is_same(T, F16) ? kF16Format : kBf16Format;
  for (size_t i = 0; i < n; ++i) {
    bool negative = is_signed && int64_t(wide[i]) < 0;
    double size = sticky(negative ? u64(0) - wide[i] : wide[i]);
    float value = to_odd(negative ? -size : size);
    if (small & kSaturate) value = saturated(value);
    d[i] = u16(encode(value, format, small & kDirectionMask, small & kFiniteBit));
  }
}
template <class T>  // float, double
NUM_SHARED void floats_of(T* d, const u64* wide, size_t n, u32 small, bool fits_signed) {
  {
    RoundingScope scope(small & 3);
    if (fits_signed)
      for (size_t i = 0; i < n; ++i) d[i] = T(int64_t(wide[i]));
    else
      for (size_t i = 0; i < n; ++i) d[i] = T(wide[i]);
  }
  if (small & kSaturate)
    for (size_t i = 0; i < n; ++i) d[i] = saturated(d[i]);
}
template <class S, class D>  // D: of a float
void int_to_float(Lanes& x, const Operands& o) {
  using T = typename D::bits;
  by_blocks<T, S>(x, o, [small = o.small](T* d, const S* a, size_t n) {
    const u32 bits = small >> kBitsShift & 0xff;
    const bool is_signed = small & kSignedBit;
    u64 wide[kBlock];
    extend_each(wide, a, n, bits, is_signed);
    if constexpr (sizeof(T) == 2)
      halves_of<typename D::type>(d, wide, n, small, is_signed);
    else
      floats_of(d, wide, n, small, is_signed || bits < 64);
  });
}

// Float sources, as f32 (f64 as itself).
template <class T>
struct Whole {
  using type = T;
  using bits = T;
  using value = T;  // that it is read as
  LANES_INLINE static void read(T* out, const T* in, size_t n) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) out[i] = in[i];
  }
};
using F32 = Whole<float>;
using F64 = Whole<double>;
template <class T>
struct Half {
  using type = T;
  using bits = u16;
  using value = float;
  LANES_INLINE static void read(float* out, const u16* in, size_t n) { T::template widen<true>(out, in, n); }
};
template <class S>
NUM_SHARED void read_each(typename S::value* v, const typename S::bits* in, size_t n, u32 small) {
  n &= ~size_t{31};
  S::read(v, in, n);
  if (small & kFlush)
    for (size_t i = 0; i < n; ++i) v[i] = flushed(v[i]);
}
// Not by the processor's rounding mode: without an instruction for it, compilers round by adding large
// numbers.
template <uint32_t kDirection>
struct integral {
  template <class T>
  LANES_INLINE T operator()(T x) const {
    return kDirection == kNearest    ? rint{}(x)
           : kDirection == kZero     ? trunc{}(x)
           : kDirection == kDownward ? floor{}(x)
                                     : ceil{}(x);
  }
};
template <uint32_t kDirection, class T>
LANES_INLINE void round_each(T* out, const T* x, size_t n) {
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) out[i] = integral<kDirection>{}(x[i]);
}
template <class T>
NUM_SHARED void round_integral(T* out, const T* x, size_t n, u32 direction) {
  n &= ~size_t{31};
  switch (direction & 3) {
    case kNearest:
      return round_each<kNearest>(out, x, n);
    case kZero:
      return round_each<kZero>(out, x, n);
    case kDownward:
      return round_each<kDownward>(out, x, n);
    default:
      return round_each<kUpward>(out, x, n);
  }
}

template <class S>
LANES_INLINE void read(typename S::value* v, const typename S::bits* in, size_t n, u32 small, bool rounds) {
  if constexpr (__is_same(typename S::bits, typename S::value))
    if (rounds && !(small & kFlush)) return round_integral(v, in, n, small & kDirectionMask);
  read_each<S>(v, in, n, small);
  if (rounds) round_integral(v, v, n, small & kDirectionMask);
}

// Float to integer: rounded to an integer, then to the nearest one that the type has. NaN gives 0, or of f64
// and to 64 bits the top bit.
template <class T, bool kSigned>
NUM_SHARED void words_of(u32* d, const T* v, size_t n, u32 bits) {
  n &= ~size_t{31};
  double high = double((u64(1) << (bits - (kSigned ? 1 : 0))) - 1), low = kSigned ? -high - 1.0 : 0.0;
  constexpr double kBias = kSigned ? 0.0 : 2147483648.0;
  u32 nan = __is_same(T, double) ? (kSigned ? ~0u : 1u) << (bits - 1) : 0;
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) {
    double r = v[i];
    r = r > low ? r : low;  // NaN too
    r = r < high ? r : high;
    u32 whole = u32(int32_t(r - kBias)) + u32(kSigned ? 0u : 0x80000000u);
    d[i] = v[i] == v[i] ? whole : nan;
  }
}
template <class T, bool kSigned>
NUM_SHARED void longs_of(u64* d, const T* v, size_t n) {
  constexpr double kTop = kSigned ? 0x1p63 : 0x1p64;
  constexpr u64 kMost = kSigned ? ~u64(0) >> 1 : ~u64(0);
  for (size_t i = 0; i < n; ++i) {
    double r = v[i];
    u64 whole;
    if (r != r)
      whole = u64(1) << 63;
    else if (r >= kTop)
      whole = kMost;
    else if (kSigned)
      whole = r <= -0x1p63 ? u64(1) << 63 : u64(int64_t(r));
    else
      whole = r <= 0.0 ? 0 : r >= 0x1p63 ? u64(int64_t(r - 0x1p63)) ^ u64(1) << 63 : u64(int64_t(r));
    d[i] = whole;
  }
}
template <class S, class D, bool kSigned, bool kLong = false>
void float_to_int(Lanes& x, const Operands& o) {
  using T = typename S::value;
  by_blocks<D, typename S::bits>(x, o, [small = o.small](D* d, const typename S::bits* a, size_t n) {
    const u32 bits = small >> kBitsShift & 0xff;
    alignas(64) T v[kBlock];
    read<S>(v, a, n, small, true);
    if constexpr (kLong) {
      longs_of<T, kSigned>(d, v, n);
    } else if constexpr (sizeof(D) == sizeof(u32)) {
      words_of<T, kSigned>(d, v, n, bits);
    } else {
      u32 words[kBlock];
      words_of<T, kSigned>(words, v, n, bits);
      extend_each(d, words, n, 32, kSigned);
    }
  });
}

// An f64 NaN keeps its sign and what fits of its payload.
LANES_INLINE u32 narrow_nan(double v, const Format& f) {
  u64 bits = bits_as<u64>(v);
  u32 fraction = u32(bits >> (52 - f.mantissa)) & ((1u << f.mantissa) - 1);
  return u32(bits >> 63) << 15 | (f.top()) | fraction | 1u << (f.mantissa - 1);
}
template <class T>
NUM_SHARED void clamp_to(T* v, size_t n, u32 small) {  // to what .sat and .relu leave
  if (small & kSaturate)
    for (size_t i = 0; i < n; ++i) v[i] = saturated(v[i]);
  if (small & kReluBit)
    for (size_t i = 0; i < n; ++i) v[i] = v[i] <= T(0) ? T(0) : v[i];
}
// D: F32, F64, Half<F16>, Half<BF16>.
template <class T, class D>
NUM_SHARED void write(typename D::bits* out, const T* v, size_t n, u32 small) {
  using Out = typename D::bits;
  const u32 direction = small & kDirectionMask;
  if constexpr (sizeof(Out) == 2) {
    const Format& format = __is_same(D, Half<F16>) ? kF16Format : kBf16Format;
    u32 to = small & kIntegral ? u32(kNearest) : direction;
    for (size_t i = 0; i < n; ++i) {
      float value;
      if constexpr (__is_same(T, double))
        value = to_odd(v[i]);
      else
        value = v[i];
      out[i] = Out(encode(value, format, to, small & kFiniteBit));
      if constexpr (__is_same(T, double)) out[i] = v[i] == v[i] ? out[i] : Out(narrow_nan(v[i], format));
    }
  } else if constexpr (__is_same(T, double) && __is_same(Out, float)) {
    {
      RoundingScope scope(direction);
      for (size_t i = 0; i < n; ++i) out[i] = float(v[i]);
    }
    if (small & kFlush)
      for (size_t i = 0; i < n; ++i) out[i] = flushed(out[i]);
  } else if constexpr (__is_same(Out, float)) {
    for (size_t i = 0; i < n; ++i) out[i] = canonical(v[i]);
  } else {
    for (size_t i = 0; i < n; ++i)
      out[i] = v[i] == v[i]     ? double(v[i])
               : small & kFlush ? bits_as<double>(u64(0x7fffffffe0000000))
                                : quiet(double(v[i]));
  }
}
template <class S, class D>
void float_to_float(Lanes& x, const Operands& o) {
  using Out = typename D::bits;
  by_blocks<Out, typename S::bits>(x, o, [small = o.small](Out* d, const typename S::bits* a, size_t n) {
    alignas(64) typename S::value v[kBlock];
    read<S>(v, a, n, small, small & kIntegral);
    clamp_to(v, n, small);
    write<typename S::value, D>(d, v, n, small);
  });
}
template <class T>
void half_to_f32(Lanes& x, const Operands& o) {
  const u16* a = values<const u16>(x, o.a);
  store<float, 1>(x, o.d, [=](float* d, u32 first, u32 n) __attribute__((always_inline)) {
    T::template widen<true>(d, a + first, n);
    if constexpr (__is_same(T, BF16)) return;  // moved as it is, NaNs too
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) d[i] = canonical(d[i]);
  });
}
template <class T>
void f32_to_half(Lanes& x, const Operands& o) {
  const float* a = values<const float>(x, o.a);
  store<u16, 1>(x, o.d, [=](u16* d, u32 first, u32 n) __attribute__((always_inline)) {
    T::template narrow<Rounding::kNearestEven, true>(d, a + first, n);
  });
}
struct to_tf32 {
  LANES_INLINE explicit to_tf32(const Operands& o) : how(o.small) {}
  LANES_INLINE u32 operator()(float a) const {
    if (how & kReluBit) a = a <= 0.0f ? 0.0f : a;
    // .rna does not look at NaNs.
    if ((how & kDirectionMask) == kNearestAway && a != a) return bits_as<u32>(a) & 0xffffe000;
    return encode(a, kTf32Format, how & kDirectionMask, how & kFiniteBit) << 13;
  }
  u32 how;
};

// The choice.

// f of what a float type is read as; null for other types.
template <class F>
Handler by_float(Type type, F f) {
  switch (type) {
    case Type::kF32:
      return f(F32{});
    case Type::kF64:
      return f(F64{});
    case Type::kF16:
      return f(Half<F16>{});
    case Type::kBf16:
      return f(Half<BF16>{});
    default:
      return nullptr;
  }
}
// f of an integer of so many bytes.
template <class F>
Handler by_bytes(u32 bytes, F f) {
  const bool is_width = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  return is_width ? num::by_size(bytes, f) : nullptr;
}

template <class S>
Handler to_int_register(u32 bytes, bool exact, bool is_signed) {
  return by_bytes(bytes, [=](auto d) -> Handler {
    using D = decltype(d);
    return !exact      ? int_general<D, S>
           : is_signed ? map<cast<D, sign<S>>, 1, D, sign<S>>
                       : map<cast<D, S>, 1, D, S>;
  });
}
CvtChoice int_to_int(const CvtKey& k) {
  u32 from = u32(bits(k.from)), to = u32(bits(k.to));
  bool exact = from == 8 * k.from_bytes && to == 8 * k.to_bytes && !k.sat;
  u32 small = from | to << 8 | (is_signed(k.from) ? kSourceSigned : 0) |
              (is_signed(k.to) ? kResultSigned : 0) | (k.sat ? kClamped : 0);
  return {
      by_bytes(k.from_bytes,
               [&](auto s) { return to_int_register<decltype(s)>(k.to_bytes, exact, is_signed(k.from)); }),
      small};
}

CvtChoice int_to_any_float(const CvtKey& k) {
  u32 from = u32(bits(k.from));
  u32 small = k.direction | (k.sat ? kSaturate : 0) | (k.satfinite ? kFiniteBit : 0) | from << kBitsShift |
              (is_signed(k.from) ? kSignedBit : 0);
  if (from == 8 * k.from_bytes && k.direction == kNearest && !k.sat) {
#define FAST(t, s, T, S) \
  if (k.to == Type::t && k.from == Type::s) return {map<cast<T, S>, 1, T, S>};
    FAST(kF32, kS32, float, int32_t)
    FAST(kF32, kU32, float, u32)
    FAST(kF64, kS32, double, int32_t)
    FAST(kF64, kU32, double, u32)
    FAST(kF64, kS64, double, int64_t)
    FAST(kF32, kS16, float, int16_t)
    FAST(kF32, kU16, float, u16)
#undef FAST
  }
  return {by_float(k.to,
                   [&](auto d) {
                     using D = decltype(d);
                     return by_bytes(k.from_bytes,
                                     [](auto s) -> Handler { return int_to_float<decltype(s), D>; });
                   }),
          small};
}

template <class S>
Handler int_of(u32 bits, u32 bytes, bool is_signed) {
  if (bits == 64)
    return bytes != 8  ? nullptr
           : is_signed ? float_to_int<S, u64, true, true>
                       : float_to_int<S, u64, false, true>;
  return by_bytes(bytes, [=](auto d) -> Handler {
    return is_signed ? float_to_int<S, decltype(d), true> : float_to_int<S, decltype(d), false>;
  });
}
}  // namespace

CvtChoice find_cvt(const CvtKey& k) {
  bool from_float = is_float(k.from), to_float = is_float(k.to);
  u32 small = k.direction | (k.sat ? kSaturate : 0) | (k.relu ? kReluBit : 0) | (k.integral ? kIntegral : 0) |
              (k.ftz ? kFlush : 0) | (k.satfinite ? kFiniteBit : 0);
  if (k.to == Type::kF16 && k.from == Type::kF32) small &= ~kFlush;  // .ftz changes nothing here
  if (!from_float && !to_float) return int_to_int(k);
  if (!from_float) return int_to_any_float(k);
  if (!to_float) {
    u32 bits_to = u32(bits(k.to));
    u32 how = small | bits_to << kBitsShift;
    return {
        by_float(k.from, [&](auto s) { return int_of<decltype(s)>(bits_to, k.to_bytes, is_signed(k.to)); }),
        how};
  }
  if (k.to == Type::kTf32 && k.from == Type::kF32) return {map<to_tf32, 1, u32, float>, small};
  if (const CvtChoice pair = find_pair_cvt(k, small); pair.run) return pair;
  if (small == 0) {
    if (k.to == Type::kF32 && k.from == Type::kF16) return {half_to_f32<F16>};
    if (k.to == Type::kF32 && k.from == Type::kBf16) return {half_to_f32<BF16>};
    if (k.to == Type::kF16 && k.from == Type::kF32) return {f32_to_half<F16>};
    if (k.to == Type::kBf16 && k.from == Type::kF32) return {f32_to_half<BF16>};
    if (k.to == Type::kF64 && k.from == Type::kF32) return {map<cast<double, float>, 1, double, float>};
  }
  return {by_float(k.from,
                   [&](auto s) {
                     using S = decltype(s);
                     return by_float(k.to, [](auto d) -> Handler { return float_to_float<S, decltype(d)>; });
                   }),
          small};
}

}  // namespace triton_runner::lanes::SIMD_ISA
