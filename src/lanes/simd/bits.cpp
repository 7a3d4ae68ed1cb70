// Computes logic, shifts and bit fields: PTX ISA 9.7.1.14 to 9.7.1.22, 9.7.8, prmt (9.7.9.7).
#include "simd/loops.h"

namespace triton_runner::lanes::SIMD_ISA {
namespace {

struct cnot {
  template <class T>
  LANES_INLINE T operator()(T a) const {
    return a == 0;
  }
};
template <bool kLeft, bool kClamp>
struct shf {
  LANES_INLINE uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t n = kClamp ? (c < 32 ? c : 32) : c & 31;
    uint64_t both = uint64_t(b) << 32 | a;
    return kLeft ? uint32_t((both << n) >> 32) : uint32_t(both >> n);
  }
};

struct popc {
  LANES_INLINE uint32_t operator()(uint32_t x) const {
    x -= (x >> 1) & 0x55555555;
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333);
    return (((x + (x >> 4)) & 0x0f0f0f0f) * 0x01010101u) >> 24;
  }
  LANES_INLINE uint32_t operator()(uint64_t x) const {
    return (*this)(uint32_t(x)) + (*this)(uint32_t(x >> 32));
  }
};
struct clz {
  template <class T>
  LANES_INLINE uint32_t operator()(T x) const {
#pragma GCC unroll 6
    for (uint32_t k = 1; k < 8 * sizeof(T); k *= 2) x |= x >> k;
    return 8 * sizeof(T) - popc{}(x);
  }
};
template <bool kShiftamt>
struct bfind {
  LANES_INLINE uint32_t operator()(uint32_t x) const { return of(x); }
  LANES_INLINE uint32_t operator()(uint64_t x) const { return of(x); }
  LANES_INLINE uint32_t operator()(int32_t x) const { return of(uint32_t(x ^ (x >> 31))); }
  LANES_INLINE uint32_t operator()(int64_t x) const { return of(uint64_t(x ^ (x >> 63))); }
  template <class T>
  LANES_INLINE static uint32_t of(T x) {
    constexpr uint32_t kTop = 8 * sizeof(T) - 1;
    uint32_t leading = clz{}(x);
    return x == 0 ? ~0u : kShiftamt ? leading : kTop - leading;
  }
};
struct brev {
  LANES_INLINE uint32_t operator()(uint32_t x) const {
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
  }
  LANES_INLINE uint64_t operator()(uint64_t x) const {
    return uint64_t((*this)(uint32_t(x))) << 32 | (*this)(uint32_t(x >> 32));
  }
};
// The n-th set bit (c, from 1) of a at or above bit b; c negative: at or below, counting down.
struct fns {
  LANES_INLINE uint32_t operator()(uint32_t mask, uint32_t base, int32_t offset) const {
    if (offset == INT32_MIN) return 0;  // as hardware does
    if (offset == 0) return base < 32 && (mask >> base & 1) ? base : ~0u;
    int64_t count = (offset < 0 ? -int64_t(offset) : int64_t(offset)) - 1;
    for (int64_t pos = base; pos >= 0 && pos < 32; pos += offset > 0 ? 1 : -1)
      if ((mask >> pos & 1) && count-- == 0) return uint32_t(pos);
    return ~0u;
  }
};
// A field's place or length: 32-bit fields look at 8 bits of it, 64-bit ones at all.
template <class T>
LANES_INLINE uint32_t field_of(uint32_t x) {
  if (sizeof(T) == 4) return x & 0xff;
  return x < 0xff ? x : 0xff;
}
struct bfe {
  template <class T>
  LANES_INLINE T operator()(T a, uint32_t b, uint32_t c) const {
    using U = typename UintOf<sizeof(T)>::type;
    constexpr uint32_t kBits = 8 * sizeof(T);
    uint32_t pos = field_of<T>(b), len = field_of<T>(c);
    uint32_t last = pos + len - 1 < kBits - 1 ? pos + len - 1 : kBits - 1;
    U sign = (T(-1) < T(0)) && len != 0 ? U(0) - (U(a) >> last & 1) : U(0);
    uint32_t shift = pos < kBits ? pos : kBits - 1;
    U field = U(a) >> shift;
    field = pos < kBits ? field : sign;
    // Above: the sign. Bits past the top of `a` are the sign too.
    uint32_t have = pos < kBits ? kBits - pos : 0;
    uint32_t keep = len < have ? len : have;
    U mask = keep >= kBits ? ~U(0) : (U(1) << (keep & (kBits - 1))) - 1;
    return T((field & mask) | (sign & ~mask));
  }
};
struct bfi {  // a into b at c, d bits
  template <class T>
  LANES_INLINE T operator()(T a, T b, uint32_t c, uint32_t d) const {
    constexpr uint32_t kBits = 8 * sizeof(T);
    uint32_t pos = field_of<T>(c), len = field_of<T>(d);
    T mask = len >= kBits ? ~T(0) : (T(1) << (len & (kBits - 1))) - 1;
    uint32_t shift = pos & (kBits - 1);
    T moved = T(mask << shift), value = T(a << shift);
    moved = pos < kBits ? moved : T(0);
    return (value & moved) | (b & ~moved);
  }
};
template <bool kClamp>
struct bmsk {
  LANES_INLINE uint32_t operator()(uint32_t a, uint32_t b) const {
    uint32_t from = a & 31, sum = from + (b & 31);
    uint32_t low = ~0u << from, high = ~0u << (sum & 31);
    bool past = kClamp && a >= 32;
    low = past ? 0 : low;
    high = sum >= 32 || past || (kClamp && b >= 32) ? 0 : high;
    return low & ~high;
  }
};
template <bool kClamp, bool kSigned>
struct szext {
  LANES_INLINE uint32_t operator()(uint32_t a, uint32_t b) const {
    uint32_t n = b & 31;
    bool whole = kClamp && b >= 32;
    uint32_t mask = whole ? 0 : ~0u << n;
    bool sign = kSigned && n != 0 && !whole && (a >> ((n - 1) & 31) & 1);
    return (a & ~mask) | (sign ? mask : 0);
  }
};

// A table of 8 bits, looked up by the bits of a, b, c: as masks m[0] .. m[7] and a tree of choices.
struct lop3 {
  LANES_INLINE explicit lop3(const Operands& o) {
    for (int k = 0; k < 8; ++k) m[k] = (o.small >> k & 1) ? ~0u : 0u;
    for (int k = 0; k < 8; k += 2) m[k + 1] ^= m[k];
  }
  LANES_INLINE uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t c0 = m[0] ^ (c & m[1]), c1 = m[2] ^ (c & m[3]), c2 = m[4] ^ (c & m[5]), c3 = m[6] ^ (c & m[7]);
    uint32_t b0 = (b & c1) | (~b & c0), b1 = (b & c3) | (~b & c2);
    return (a & b1) | (~a & b0);
  }
  uint32_t m[8];
};
// lop3.BoolOp: d is the result, e the predicate (result != 0) BoolOp q; q's place is in imm. small: the
// table, bit 8: or instead of and.
void lop3_pair(Lanes& x, const Operands& o) {
  const lop3 f(o);
  const uint32_t* a = values<const uint32_t>(x, o.a);
  const uint32_t* b = values<const uint32_t>(x, o.b);
  const uint32_t* c = values<const uint32_t>(x, o.c);
  const int8_t* q = values<const int8_t>(x, uint32_t(o.imm));
  uint32_t* d = o.d == kNoRegister ? nullptr : values<uint32_t>(x, o.d);
  int8_t* p = values<int8_t>(x, o.e);
  bool is_or = o.small & kLop3Or;
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i)) continue;
    uint32_t r = f(a[i], b[i], c[i]);
    int8_t t = r != 0 ? -1 : 0, u = q[i];
    p[i] = is_or ? t | u : t & u;
    if (d) d[i] = r;
  }
}

// prmt: small is the Permutation; a nibble chooses a byte (bit 3: its sign), of c or of the row c & 3 here.
constexpr uint16_t kPrmtModes[kPermutations][4] = {{},
                                                   {0x3210, 0x4321, 0x5432, 0x6543},   // f4e
                                                   {0x5670, 0x6701, 0x7012, 0x0123},   // b4e
                                                   {0x0000, 0x1111, 0x2222, 0x3333},   // rc8
                                                   {0x3210, 0x3211, 0x3222, 0x3333},   // ecl
                                                   {0x0000, 0x1110, 0x2210, 0x3210},   // ecr
                                                   {0x1010, 0x3232, 0x1010, 0x3232}};  // rc16
LANES_INLINE uint32_t permute(uint32_t a, uint32_t b, uint32_t control) {
  uint64_t both = uint64_t(b) << 32 | a;
  uint32_t result = 0;
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    uint32_t nibble = control >> (4 * k);
    uint32_t byte = uint32_t(both >> (8 * (nibble & 7))) & 0xff;
    byte = (nibble & 8) ? (byte & 0x80 ? 0xffu : 0u) : byte;
    result |= byte << (8 * k);
  }
  return result;
}
struct prmt {
  LANES_INLINE explicit prmt(const Operands& o) : mode(o.small) {}
  LANES_INLINE uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    return permute(a, b, mode == kPermuteBytes ? c : kPrmtModes[mode][c & 3]);
  }
  uint32_t mode;
};
// The same with one control word for all lanes, which is the usual case: an immediate. imm holds it.
void prmt_uniform(Lanes& x, const Operands& o) {
  const uint32_t* a = values<const uint32_t>(x, o.a);
  const uint32_t* b = values<const uint32_t>(x, o.b);
  uint32_t control = o.small == kPermuteBytes ? uint32_t(o.imm) : kPrmtModes[o.small][o.imm & 3];
  const uint32_t* from[4];
  uint32_t shift[4];
  bool sign = false;
  for (int k = 0; k < 4; ++k) {
    uint32_t nibble = control >> (4 * k);
    from[k] = nibble & 4 ? b : a;
    shift[k] = 8 * (nibble & 3);
    sign |= nibble >> 3 & 1;
  }
  store<uint32_t, 1>(x, o.d, [=](uint32_t* d, uint32_t first, uint32_t n) __attribute__((always_inline)) {
    if (sign) {
      for (size_t i = 0; i < n; ++i) d[i] = permute(a[first + i], b[first + i], control);
      return;
    }
    const uint32_t *p0 = from[0] + first, *p1 = from[1] + first, *p2 = from[2] + first, *p3 = from[3] + first;
    uint32_t s0 = shift[0], s1 = shift[1], s2 = shift[2], s3 = shift[3];
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i)
      d[i] =
          (p0[i] >> s0 & 0xff) | (p1[i] >> s1 & 0xff) << 8 | (p2[i] >> s2 & 0xff) << 16 | p3[i] >> s3 << 24;
  });
}

#define WORDS(op, f, n) \
  ROW(op, kB16, 0, n(f, uint16_t)), ROW(op, kB32, 0, n(f, uint32_t)), ROW(op, kB64, 0, n(f, uint64_t))
#define BITS(op, f, n) ROW(op, kPred, 0, n(f, uint8_t)), WORDS(op, f, n)
#define ONE(f, T) map<f, 1, T, T>
#define TWO(f, T) map<f, 1, T, T, T>
#define SHIFT(op, t, f, T) ROW(op, k##t, 0, map<f, 1, T, T, uint32_t>)
#define SHIFTS(op, t, f, T) \
  SHIFT(op, t##16, f, T##16_t), SHIFT(op, t##32, f, T##32_t), SHIFT(op, t##64, f, T##64_t)
#define COUNT(op, t, T, variant, ...) ROW(op, k##t, variant, map<__VA_ARGS__, 1, uint32_t, T>)

constexpr Row kRows[] = {
    BITS(kAnd, and_, TWO),
    BITS(kOr, or_, TWO),
    BITS(kXor, xor_, TWO),
    BITS(kNot, not_, ONE),
    WORDS(kCnot, cnot, ONE),
    SHIFTS(kShl, B, shl, uint),
    SHIFTS(kShr, B, shr, uint),
    SHIFTS(kShr, U, shr, uint),
    SHIFTS(kShr, S, shr, int),
#define SHF(variant, left, clamp) \
  ROW(kShf, kB32, variant, map<shf<left, clamp>, 1, uint32_t, uint32_t, uint32_t, uint32_t>)
    SHF(kVLeft | kVClamp, true, true),
    SHF(kVLeft, true, false),
    SHF(kVClamp, false, true),
    SHF(0, false, false),
    COUNT(kPopc, B32, uint32_t, 0, popc),
    COUNT(kPopc, B64, uint64_t, 0, popc),
    COUNT(kClz, B32, uint32_t, 0, clz),
    COUNT(kClz, B64, uint64_t, 0, clz),
#define BFIND(t, T) COUNT(kBfind, t, T, 0, bfind<false>), COUNT(kBfind, t, T, kVShiftAmount, bfind<true>)
    BFIND(U32, uint32_t),
    BFIND(U64, uint64_t),
    BFIND(S32, int32_t),
    BFIND(S64, int64_t),
    ROW(kBrev, kB32, 0, ONE(brev, uint32_t)),
    ROW(kBrev, kB64, 0, ONE(brev, uint64_t)),
    ROW(kFns, kB32, 0, map<fns, 1, uint32_t, uint32_t, uint32_t, int32_t>),
#define BFE(t, T) ROW(kBfe, k##t, 0, map<bfe, 1, T, T, uint32_t, uint32_t>)
    BFE(U32, uint32_t),
    BFE(U64, uint64_t),
    BFE(S32, int32_t),
    BFE(S64, int64_t),
    ROW(kBfi, kB32, 0, map<bfi, 1, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>),
    ROW(kBfi, kB64, 0, map<bfi, 1, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t>),
    ROW(kBmsk, kB32, kVClamp, TWO(bmsk<true>, uint32_t)),
    ROW(kBmsk, kB32, 0, TWO(bmsk<false>, uint32_t)),
#define SZEXT_ROW(t, variant, clamp, is_signed) \
  ROW(kSzext, k##t, variant, map<szext<clamp, is_signed>, 1, uint32_t, uint32_t, uint32_t>)
#define SZEXT(t, is_signed) SZEXT_ROW(t, kVClamp, true, is_signed), SZEXT_ROW(t, 0, false, is_signed)
    SZEXT(U32, false),
    SZEXT(S32, true),
    ROW(kLop3, kB32, 0, map<lop3, 1, uint32_t, uint32_t, uint32_t, uint32_t>),
    ROW(kLop3, kB32, kVPair, lop3_pair),
    ROW(kPrmt, kB32, 0, map<prmt, 1, uint32_t, uint32_t, uint32_t, uint32_t>),
    ROW(kPrmt, kB32, kVGeneral, prmt_uniform),
};

}  // namespace

Rows bit_rows() { return {kRows, sizeof(kRows) / sizeof(Row)}; }

}  // namespace triton_runner::lanes::SIMD_ISA
