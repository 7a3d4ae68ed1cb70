// Moves between registers (mov), and packs small values into a wide one and back: PTX ISA 9.7.9.3, 9.7.9.4.
#include "simd/loops.h"

namespace triton_runner::lanes::SIMD_ISA {
namespace {

struct copy {
  template <class T>
  LANES_INLINE T operator()(T a) const {
    return a;
  }
};

// d = {a, b, c, e}, lowest first.
template <class Part, int kParts>
void pack(Lanes& x, const Operands& o) {
  const uint32_t places[4] = {o.a, o.b, o.c, o.e};
  const Part* p[kParts];
  for (int k = 0; k < kParts; ++k) p[k] = values<const Part>(x, places[k]);
  store<Part, kParts>(x, o.d, [=](Part* d, uint32_t first, uint32_t n) __attribute__((always_inline)) {
#pragma GCC ivdep
    for (size_t i = 0; i < n / kParts; ++i)
#pragma GCC unroll 4
      for (int k = 0; k < kParts; ++k) d[i * kParts + k] = p[k][first / kParts + i];
  });
}
// {d, a, b, c} = e, lowest first; a part may be no register.
template <class Part, int kParts>
void unpack(Lanes& x, const Operands& o) {
  const uint32_t places[4] = {o.d, o.a, o.b, o.c};
  const Part* whole = values<const Part, kParts>(x, o.e);
#pragma GCC unroll 4
  for (int k = 0; k < kParts; ++k) {
    if (places[k] == kNoRegister) continue;
    store<Part, 1>(x, places[k], [=](Part* d, uint32_t first, uint32_t n) __attribute__((always_inline)) {
      const Part* from = whole + size_t(first) * kParts + k;
#pragma GCC ivdep
      for (size_t i = 0; i < n; ++i) d[i] = from[i * kParts];
    });
  }
}

#define MOVE(t, T) ROW(kMov, t, 0, map<copy, 1, T, T>)
#define PARTS(t, p, Part, n) \
  ROW_OF(kMov, t, p, kVLeft, pack<Part, n>), ROW_OF(kMov, t, p, kVHi, unpack<Part, n>)

constexpr Row kRows[] = {
    MOVE(kPred, int8_t),
    MOVE(kB8, uint8_t),
    MOVE(kB16, uint16_t),
    MOVE(kB32, uint32_t),
    MOVE(kB64, uint64_t),
    MOVE(kB128, Wide128),
    PARTS(kB16, kB8, uint8_t, 2),
    PARTS(kB32, kB8, uint8_t, 4),
    PARTS(kB32, kB16, uint16_t, 2),
    PARTS(kB64, kB16, uint16_t, 4),
    PARTS(kB64, kB32, uint32_t, 2),
    PARTS(kB128, kB32, uint32_t, 4),
    PARTS(kB128, kB64, uint64_t, 2),
};

}  // namespace

Rows move_rows() { return {kRows, sizeof(kRows) / sizeof(Row)}; }

}  // namespace triton_runner::lanes::SIMD_ISA
