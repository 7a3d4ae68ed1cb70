// Computes comparisons and selections: PTX ISA 9.7.6, 9.7.7, testp (9.7.3.1). AMD's compare instructions use these rows, and
// src/simt/native writes code that leaves the same bits. A predicate is 0 or -1; in src/num/simd/compare.cpp a mask is 0 or 1.
#include <cstring>

#include "simd/floats.h"

namespace triton_runner::lanes::SIMD_ISA {
namespace {

// The value that is compared: an integer or float as it is, a half as f32.
template <class T>
struct Value {
  using type = T;
  static constexpr bool kIsFloat = T(0.5) != T(0), kIsHalf = false, kFlushes = __is_same(T, float);
  LANES_INLINE static T of(T x) { return x; }
  LANES_INLINE static T flush(T x) { return flushed(x); }
};
template <class T>
struct HalfValue {
  using type = uint16_t;
  static constexpr bool kIsFloat = true, kIsHalf = true, kFlushes = true;
  LANES_INLINE static float of(uint16_t x) { return T::wide(x); }
  LANES_INLINE static uint16_t flush(uint16_t x) { return flushed_half<T>(x); }
};

template <class V, uint32_t kCmp>
struct compare {
  template <class T>
  LANES_INLINE int8_t operator()(T a, T b) const {
    return holds<kCmp>(V::of(a), V::of(b)) ? -1 : 0;
  }
};

// Halves are seldom compared.
template <class V, uint32_t kCmp>
void plain(Lanes& x, const Operands& o) {
  using T = typename V::type;
  map_each<V::kIsHalf, compare<V, kCmp>, 1, int8_t, T, T>(x, o);
}

// The general forms share few loops: `opposite`, 0 or -1, turns one into the comparison that holds where it does not.
template <class V, uint32_t kCmp>
NUM_SHARED void compare_loop(int8_t* out, const typename V::type* a, const typename V::type* b, size_t n,
                             int8_t opposite) {
  n &= ~size_t{31};
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<int8_t>(compare<V, kCmp>{}(a[i], b[i]) ^ opposite);
}
template <class V>
void compare_any(uint32_t cmp, int8_t* out, const typename V::type* a, const typename V::type* b, size_t n) {
#define CASE(c, loop, x, y, opposite) \
  case c:                             \
    return compare_loop<V, loop>(out, x, y, n, opposite);
  // clang-format off
  switch (cmp) {
    CASE(kCmpEq, kCmpEq, a, b, 0) CASE(kCmpNeu, kCmpEq, a, b, -1)
    CASE(kCmpLt, kCmpLt, a, b, 0) CASE(kCmpGeu, kCmpLt, a, b, -1)
    CASE(kCmpGt, kCmpLt, b, a, 0) CASE(kCmpLeu, kCmpLt, b, a, -1)
  }
  if constexpr (V::kIsFloat) {
    switch (cmp) {
      CASE(kCmpLe, kCmpLe, a, b, 0) CASE(kCmpGtu, kCmpLe, a, b, -1)
      CASE(kCmpGe, kCmpLe, b, a, 0) CASE(kCmpLtu, kCmpLe, b, a, -1)
      CASE(kCmpNe, kCmpNe, a, b, 0) CASE(kCmpEqu, kCmpNe, a, b, -1)
      CASE(kCmpNan, kCmpNan, a, b, 0) CASE(kCmpNum, kCmpNan, a, b, -1)
    }
  } else {
    switch (cmp) {
      CASE(kCmpNe, kCmpEq, a, b, -1) CASE(kCmpGe, kCmpLt, a, b, -1) CASE(kCmpLe, kCmpLt, b, a, -1)
    }
  }
  // clang-format on
#undef CASE
}
LANES_INLINE int8_t combined(uint32_t how, int8_t t, int8_t c) {
  return how == kBoolNone ? t : how == kBoolAnd ? t & c : how == kBoolOr ? t | c : t ^ c;
}

constexpr size_t kBlock = 128;  // lanes

// The outcomes of kPack comparisons a lane, for a block of lanes, into `out` in memory order.
template <class V, int kPack>
void outcomes(const Lanes& x, const Operands& o, uint32_t first, size_t n, int8_t* out) {
  using T = typename V::type;
  const T* a = values<const T, kPack>(x, o.a) + size_t(first) * kPack;
  const T* b = values<const T, kPack>(x, o.b) + size_t(first) * kPack;
  alignas(64) T fa[kBlock * kPack], fb[kBlock * kPack];
  if constexpr (V::kFlushes)
    if (o.small & kCmpFtz) {
      for (size_t i = 0; i < n * kPack; ++i) fa[i] = V::flush(a[i]), fb[i] = V::flush(b[i]);
      a = fa, b = fb;
    }
  compare_any<V>(o.small & kCmpMask, out, a, b, n * kPack);
}

// to = outcome op c of n lanes, of which the mask's (null: all) are written; outcomes: kPack a lane; second: of those the
// second, of one the opposite.
template <int kPack>
void put_outcomes(int8_t* to, const int8_t* outcomes, bool second, uint32_t how, const int8_t* c,
                  const int8_t* mask, size_t n) {
  int8_t t[kBlock];
  for (size_t i = 0; i < n; ++i)
    t[i] = kPack == 2 ? outcomes[2 * i + second] : static_cast<int8_t>(outcomes[i] ^ -int8_t{second});
  auto combine = [&](auto op) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) t[i] = static_cast<int8_t>(op(t[i], c ? c[i] : int8_t{0}));
  };
  if (how == kBoolAnd) combine([](int8_t x, int8_t y) { return x & y; });
  if (how == kBoolOr) combine([](int8_t x, int8_t y) { return x | y; });
  if (how == kBoolXor) combine([](int8_t x, int8_t y) { return x ^ y; });
  if (!mask) {
    for (size_t i = 0; i < n; ++i) to[i] = t[i];
    return;
  }
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) to[i] = static_cast<int8_t>((t[i] & mask[i]) | (to[i] & ~mask[i]));
}

// setp with everything: p (d) = outcome op c; a pair's second (e) = !outcome op c, or of halves the second
// half's outcome op c. d or e may be no register.
template <class V, int kPack>
void setp(Lanes& x, const Operands& o) {
  const int8_t* c = o.c == kNoRegister ? nullptr : values<const int8_t>(x, o.c);
  const uint32_t how = o.small >> kBoolShift & 3;
  for (uint32_t first = 0; first < x.count; first += kBlock) {
    const size_t n = x.count - first < kBlock ? x.count - first : kBlock;
    int8_t t[kBlock * kPack], with[kBlock];
    outcomes<V, kPack>(x, o, first, n, t);
    if (c) std::memcpy(with, c + first, n);  // it may be one of those that are written
    const int8_t* mask = x.mask ? x.mask + first : nullptr;
    for (const bool second : {false, true})
      if (const uint32_t place = second ? o.e : o.d; place != kNoRegister)
        put_outcomes<kPack>(values<int8_t>(x, place) + first, t, second, how, c ? with : nullptr, mask, n);
  }
}

// set: D(imm) where it holds, 0 elsewhere.
template <class V, int kPack, class D>
void set(Lanes& x, const Operands& o) {
  const int8_t* c = o.c == kNoRegister ? nullptr : values<const int8_t>(x, o.c);
  uint32_t how = o.small >> kBoolShift & 3;
  D value = D(o.imm);
  const Lanes* lanes = &x;
  const Operands* operands = &o;
  store<D, kPack, true>(x, o.d, [=](D* d, uint32_t first, uint32_t n) {
    for (uint32_t at = 0; at < n; at += kBlock * kPack) {
      size_t m = n - at < kBlock * kPack ? n - at : kBlock * kPack;
      int8_t t[kBlock * kPack];
      outcomes<V, kPack>(*lanes, *operands, (first + at) / kPack, m / kPack, t);
      for (size_t i = 0; i < m; ++i) {
        int8_t with = c ? c[(first + at + i) / kPack] : 0;
        d[at + i] = combined(how, t[i], with) ? value : D(0);
      }
    }
  });
}

struct selp {
  template <class T>
  LANES_INLINE T operator()(T a, T b, int8_t c) const {
    return c ? a : b;
  }
};
struct slct {
  template <class T>
  LANES_INLINE T operator()(T a, T b, int32_t c) const {
    return c >= 0 ? a : b;
  }
  template <class T>
  LANES_INLINE T operator()(T a, T b, float c) const {
    return c >= 0.0f ? a : b;
  }
};
struct slct_ftz {
  template <class T>
  LANES_INLINE T operator()(T a, T b, float c) const {
    return flushed(c) >= 0.0f ? a : b;
  }
};

// testp (a zero is normal); small: FloatTest.
template <class U, U kExponent, U kMantissa>
struct testp {
  LANES_INLINE explicit testp(const Operands& o) : kind(o.small) {}
  LANES_INLINE int8_t operator()(U x) const {
    U exponent = x & kExponent, mantissa = x & kMantissa;
    bool top = exponent == kExponent;
    bool r = kind == kTestFinite       ? !top
             : kind == kTestInfinite   ? top && mantissa == 0
             : kind == kTestNumber     ? !top || mantissa == 0
             : kind == kTestNotANumber ? top && mantissa != 0
             : kind == kTestNormal     ? !top && (exponent != 0 || mantissa == 0)
                                       : exponent == 0 && mantissa != 0;
    return r ? -1 : 0;
  }
  uint32_t kind;
};

#define PLAIN(t, V, c) ROW(kSetp, t, (c) << kComparisonShift, plain<V, c>)
#define EQUALITY(t, V) PLAIN(t, V, kCmpEq), PLAIN(t, V, kCmpNe)
#define ORDER(t, V) PLAIN(t, V, kCmpLt), PLAIN(t, V, kCmpLe), PLAIN(t, V, kCmpGt), PLAIN(t, V, kCmpGe)
#define UNORDERED(t, V)                                                                   \
  PLAIN(t, V, kCmpEqu), PLAIN(t, V, kCmpNeu), PLAIN(t, V, kCmpLtu), PLAIN(t, V, kCmpLeu), \
      PLAIN(t, V, kCmpGtu), PLAIN(t, V, kCmpGeu), PLAIN(t, V, kCmpNum), PLAIN(t, V, kCmpNan)
#define GENERAL(t, V, pack) ROW(kSetp, t, kVGeneral, setp<V, pack>)
#define SET(t, result, V, pack, D) ROW_OF(kSet, t, result, 0, set<V, pack, D>)
#define ANY(t, V) GENERAL(t, V, 1), SET(t, kB16, V, 1, uint16_t), SET(t, kB32, V, 1, uint32_t)
#define BITS(t, T) EQUALITY(t, Value<unsign<T>>), ANY(t, Value<T>)
#define INTEGER(t, T) BITS(t, T), ORDER(t, Value<T>)
#define FLOAT(t, V) EQUALITY(t, V), ANY(t, V), ORDER(t, V), UNORDERED(t, V)
#define SELP(t, T)                                                      \
  ROW(kSelp, t, 0, map<selp, 1, T, T, T, int8_t>),                      \
      ROW_OF(kSlct, t, kS32, 0, map_seldom<slct, 1, T, T, T, int32_t>), \
      ROW_OF(kSlct, t, kF32, 0, map_seldom<slct, 1, T, T, T, float>),   \
      ROW_OF(kSlct, t, kF32, kVFtz, map_seldom<slct_ftz, 1, T, T, T, float>)

constexpr Row kRows[] = {
    BITS(kB16, uint16_t),
    BITS(kB32, uint32_t),
    BITS(kB64, uint64_t),
    INTEGER(kU16, uint16_t),
    INTEGER(kU32, uint32_t),
    INTEGER(kU64, uint64_t),
    INTEGER(kS16, int16_t),
    INTEGER(kS32, int32_t),
    INTEGER(kS64, int64_t),
    FLOAT(kF32, Value<float>),
    FLOAT(kF64, Value<double>),
    FLOAT(kF16, HalfValue<F16>),
    FLOAT(kBf16, HalfValue<BF16>),
    GENERAL(kF16x2, HalfValue<F16>, 2),
    GENERAL(kBf16x2, HalfValue<BF16>, 2),
    SET(kF16x2, kB16, HalfValue<F16>, 2, uint16_t),
    SET(kBf16x2, kB16, HalfValue<BF16>, 2, uint16_t),
    SELP(kB16, uint16_t),
    SELP(kB32, uint32_t),
    SELP(kB64, uint64_t),
    ROW(kTestp, kF32, 0, map_seldom<testp<uint32_t, 0x7f800000u, 0x7fffffu>, 1, int8_t, uint32_t>),
    ROW(kTestp, kF64, 0,
        map_seldom<testp<uint64_t, 0x7ff0000000000000u, 0xfffffffffffffu>, 1, int8_t, uint64_t>),
};

}  // namespace

Rows compare_rows() { return {kRows, sizeof(kRows) / sizeof(Row)}; }

}  // namespace triton_runner::lanes::SIMD_ISA
