// Has the steps over lanes of tables.h.
#include <cmath>
#include <limits>
#include <type_traits>

#include <triton_runner/num/formulas.h>

#include "front/amdgcn/simd/tables.h"

namespace triton_runner::simt::amd::SIMD_ISA {

const lanes::Handler* each_handlers();
lanes::Handler sum_handler(bool subtracts, bool is_signed, int which);

namespace {

using lanes::kNoRegister;
using lanes::Lanes;
using lanes::Operands;
using num::SIMD_ISA::bits_as;

// Bit i: whether byte i of 32 is set (0 or -1 each).
NUM_INLINE uint32_t bits_of(const int8_t* p) {
#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
  return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#else
  uint32_t out = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint64_t eight = 0;
    __builtin_memcpy(&eight, p + 8 * i, 8);
    out |= static_cast<uint32_t>((eight & 0x8040201008040201) * 0x0101010101010101 >> 56) << (8 * i);
  }
  return out;
#endif
}
NUM_INLINE void bytes_of(int8_t* to, uint32_t bits) {
#if defined(SIMD_ISA_avx512)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_movm_epi8(bits));
#else
  if (bits == 0 || bits == ~0u) {
    __builtin_memset(to, bits ? -1 : 0, 32);
    return;
  }
  for (uint32_t i = 0; i < 32; ++i) to[i] = static_cast<int8_t>(-static_cast<int>(bits >> i & 1));
#endif
}
NUM_INLINE void fill(uint32_t* d, uint32_t n, uint32_t value) {
  for (uint32_t i = 0; i < (n & ~31u); ++i) d[i] = value;
}

void pack_mask(Lanes& l, const Operands& in) {
  const uint32_t width = in.small;
  const int8_t *a = l.reg<int8_t>(in.a), *b = l.reg<int8_t>(in.b);
  int8_t* kept = in.c == kNoRegister ? nullptr : l.reg<int8_t>(in.c);
  for (uint32_t w = 0; w < l.count; w += width)
    for (uint32_t half = 0; l.on(w) && half < width / 32; ++half) {
      const uint32_t at = w + 32 * half, bits = bits_of(a + at) & bits_of(b + at);
      fill(l.reg<uint32_t>(half ? in.e : in.d) + w, width, bits);
      if (kept) bytes_of(kept + at, bits);
    }
}
void unpack_mask(Lanes& l, const Operands& in) {
  const uint32_t width = in.small;
  int8_t* d = l.reg<int8_t>(in.d);
  for (uint32_t w = 0; w < l.count; w += width)
    for (uint32_t half = 0; l.on(w) && half < width / 32; ++half)
      bytes_of(d + w + 32 * half, l.reg<uint32_t>(half ? in.b : in.a)[w]);
}

void join(Lanes& l, const Operands& in) {
  const size_t n = l.count & ~31u;
  const uint32_t *a = l.reg<uint32_t>(in.a), *b = l.reg<uint32_t>(in.b);
  uint64_t* d = l.reg<uint64_t>(in.d);
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) d[i] = a[i] | uint64_t{b[i]} << 32;
}

void part(Lanes& l, const Operands& in) {
  const size_t n = l.count & ~31u;
  const uint64_t* a = l.reg<uint64_t>(in.a);
  uint32_t *d = l.reg<uint32_t>(in.d), *e = l.reg<uint32_t>(in.e);
  if (!l.mask) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) {
      d[i] = static_cast<uint32_t>(a[i]);
      e[i] = static_cast<uint32_t>(a[i] >> 32);
    }
    return;
  }
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i)
    if (l.mask[i]) {
      d[i] = static_cast<uint32_t>(a[i]);
      e[i] = static_cast<uint32_t>(a[i] >> 32);
    }
}

void take_half(Lanes& l, const Operands& in) {
  const size_t n = l.count & ~31u;
  const uint32_t *a = l.reg<uint32_t>(in.a), shift = 16 * in.small;
  uint16_t* d = l.reg<uint16_t>(in.d);
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) d[i] = static_cast<uint16_t>(a[i] >> shift);
}

void put_half(Lanes& l, const Operands& in) {
  const size_t n = l.count & ~31u;
  const uint16_t* a = l.reg<uint16_t>(in.a);
  uint32_t* d = l.reg<uint32_t>(in.d);
  const uint32_t shift = 16 * in.small, kept = in.imm ? 0 : 0xffff0000u >> shift;
  if (!l.mask) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) d[i] = (d[i] & kept) | static_cast<uint32_t>(a[i]) << shift;
    return;
  }
  for (size_t i = 0; i < n; ++i)
    if (l.mask[i]) d[i] = (d[i] & kept) | static_cast<uint32_t>(a[i]) << shift;
}

void take_bytes(Lanes& l, const Operands& in) {
  const size_t n = l.count & ~31u;
  const uint32_t* a = l.reg<uint32_t>(in.a);
  uint32_t* d = l.reg<uint32_t>(in.d);
  const uint32_t unused = 32 - static_cast<uint32_t>(in.imm & 255);
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) {
    const uint32_t up = a[i] >> in.small << unused;
    d[i] = in.imm >> 8 ? static_cast<uint32_t>(static_cast<int32_t>(up) >> unused) : up >> unused;
  }
}

// ISA, V_DIV_SCALE: what a division has to be scaled by so that its steps are exact; and whether its quotient is scaled back.
template <class T, int kBits>
void div_scale(Lanes& l, const Operands& in) {
  const T *value = l.reg<T>(in.a), *denominator = l.reg<T>(in.b), *numerator = l.reg<T>(in.c);
  T* d = l.reg<T>(in.d);
  int8_t* scaled = l.reg<int8_t>(in.e);
  constexpr int kBy = sizeof(T) == 4 ? 64 : 128;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  auto exponent = [](T x) { return static_cast<int>(bits_as<Bits>(x) << 1 >> kBits); };  // its field
  auto is_small = [](T x) { return x != 0 && std::fabs(x) < std::numeric_limits<T>::min(); };
  constexpr int kNear = sizeof(T) == 4 ? 40 : 300, kBias = sizeof(T) == 4 ? 127 : 1023;
  uint32_t others = 0;  // than zeros and what is not near an end of the range
  for (size_t i = 0; i < (l.count & ~31u); ++i) {
    const T b = denominator[i], a = numerator[i];
    const int from = exponent(a) - kBias, by = exponent(b) - kBias;
    const bool is_near = (from < kNear) & (from > -kNear) & (by < kNear) & (by > -kNear);
    others |= is_near | (a == 0) | (b == 0) ? 0 : 1;
  }
  if (!others && !l.mask) {
    constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
#pragma GCC ivdep
    for (size_t i = 0; i < (l.count & ~31u); ++i) {
      d[i] = (numerator[i] == 0) | (denominator[i] == 0) ? kNan : value[i];
      scaled[i] = 0;
    }
    return;
  }
  for (uint32_t i = 0; i < l.count; ++i) {
    if (!l.on(i)) continue;
    const T v = value[i], b = denominator[i], a = numerator[i];
    T out = v;
    bool flag = false;
    if (a == 0 || b == 0 || !std::isfinite(a) || !std::isfinite(b)) {
      out = a == 0 || b == 0 ? std::numeric_limits<T>::quiet_NaN() : v;
    } else if (exponent(a) - exponent(b) >= (sizeof(T) == 4 ? 96 : 768)) {
      flag = true;
      if (v == b) out = std::ldexp(v, kBy);
    } else if (is_small(b)) {
      out = std::ldexp(v, kBy);
    } else if (is_small(1 / b) && is_small(a / b)) {
      flag = true;
      if (v == b) out = std::ldexp(v, kBy);
    } else if (is_small(1 / b)) {
      out = std::ldexp(v, -kBy);
    } else if (is_small(a / b)) {
      flag = true;
      if (v == a) out = std::ldexp(v, kBy);
    } else if (exponent(a) <= kBits - 1) {
      out = std::ldexp(v, kBy);
    }
    d[i] = out;
    scaled[i] = flag ? -1 : 0;
  }
}
// d = fma(a, b, c), scaled back where the mask e says so: up where the quotient c is large, else down.
template <class T>
void div_fmas(Lanes& l, const Operands& in) {
  const T *a = l.reg<T>(in.a), *b = l.reg<T>(in.b), *c = l.reg<T>(in.c);
  const int8_t* scaled = l.reg<int8_t>(in.e);
  T* d = l.reg<T>(in.d);
  constexpr int kBy = sizeof(T) == 4 ? 64 : 128;
  uint32_t any = 0;
  for (size_t i = 0; i < (l.count & ~31u); ++i) any |= static_cast<uint8_t>(scaled[i]);
  if (!any && !l.mask) {
#pragma GCC ivdep
    for (size_t i = 0; i < (l.count & ~31u); ++i) d[i] = num::SIMD_ISA::fma_of(a[i], b[i], c[i]);
    return;
  }
  for (uint32_t i = 0; i < l.count; ++i) {
    if (!l.on(i)) continue;
    const T out = num::SIMD_ISA::fma_of(a[i], b[i], c[i]);
    d[i] = !scaled[i] ? out : std::ldexp(out, std::fabs(c[i]) >= 1 ? kBy : -kBy);
  }
}

// The instruction's offset and the lane's are added in 32 bits, which is what LLVM splits them for on all chips before gfx1250; the
// scalar offset moves both ends of the buffer (CDNA 3 ISA, "Buffer addressing" and "Range checking").
void buffer(Lanes& l, const Operands& in) {
  const auto& plan = *static_cast<const BufferPlan*>(in.data);
  for (uint32_t w = 0; w < l.count; w += plan.width) {
    if (!l.on(w)) continue;
    // Scalars are the same in all lanes of a wavefront.
    const auto word = [&](uint32_t place) { return uint64_t{l.reg<uint32_t>(place)[w]}; };
    const uint64_t more = word(plan.soffset), size = word(plan.descriptor[2]),
                   base = (word(plan.descriptor[0]) | (word(plan.descriptor[1]) & 0xffff) << 32) + more;
    const bool any = more + plan.bytes <= size;  // of 33 bits at most: no sum wraps
    const auto last = static_cast<uint32_t>(size - more - plan.bytes);
    uint64_t* d = l.reg<uint64_t>(in.d) + w;
    int8_t* e = l.reg<int8_t>(in.e) + w;
    const uint32_t offset = plan.offset;
    const auto fill = [&](auto at_of) {
#pragma GCC ivdep
      for (uint32_t i = 0; i < plan.width; ++i) {
        const uint32_t at = at_of(i);
        d[i] = base + at;
        e[i] = any && at <= last ? -1 : 0;
      }
    };
    if (in.a == kNoRegister) {
      fill([=](uint32_t) { return offset; });
      continue;
    }
    const uint32_t* a = l.reg<uint32_t>(in.a) + w;
    fill([=](uint32_t i) { return a[i] + offset; });
  }
}

}  // namespace

extern const Steps steps_table;
const Steps steps_table = {each_handlers(),
                           sum_handler,
                           pack_mask,
                           unpack_mask,
                           join,
                           part,
                           take_half,
                           put_half,
                           take_bytes,
                           div_scale<float, 24>,
                           div_scale<double, 53>,
                           div_fmas<float>,
                           div_fmas<double>,
                           buffer};

}  // namespace triton_runner::simt::amd::SIMD_ISA
