// Computes sums.h over lanes: additions of three operands with carries in and out, and predicates packed into
// bits.
#include <triton_runner/lanes/sums.h>

#include <algorithm>
#include <iterator>

namespace triton_runner::lanes {
namespace SIMD_ISA {
namespace {

constexpr uint32_t kWarp = 32;

// d[w + i] = found[i] of the lanes of a warp that are on.
template <class T>
inline void keep(const Lanes& l, size_t w, T* d, const T* found) {
  const int8_t* mask = l.mask;
  d += w;
  if (!mask) {
    for (size_t i = 0; i < kWarp; ++i) d[i] = found[i];
    return;
  }
#pragma GCC ivdep
  for (size_t i = 0; i < kWarp; ++i) {
    const T on = static_cast<T>(mask[w + i]);  // all of its bits
    d[i] = static_cast<T>((found[i] & on) | (d[i] & ~on));
  }
}

// d[i] = f(i) of the lanes that are on, a warp at a time.
template <class T, class F>
inline void store(const Lanes& l, uint32_t place, const F& f) {
  for (size_t w = 0; w < l.count; w += kWarp) {
    T found[kWarp];
    for (size_t i = 0; i < kWarp; ++i) found[i] = f(w + i);
    keep(l, w, l.reg<T>(place), found);
  }
}

void add3(Lanes& l, const Operands& in) {
  const Add3& carries = *static_cast<const Add3*>(in.data);
  const uint32_t *a = l.reg<uint32_t>(in.a), *b = l.reg<uint32_t>(in.b), *c = l.reg<uint32_t>(in.c);
  auto flip = [&](uint32_t bit) { return in.small & bit ? ~0u : 0; };
  const uint32_t flip_a = flip(1), flip_b = flip(2), flip_c = flip(4);
  const uint32_t ones = (in.small >> 3 & 1) + (in.small >> 4 & 1) + (in.small >> 5 & 1);
  const auto is_used = [](uint32_t place) { return place != kNoRegister; };
  const bool carries_in = std::any_of(std::begin(carries.in), std::end(carries.in), is_used);
  const bool carries_out = std::any_of(std::begin(carries.out), std::end(carries.out), is_used);
  for (size_t w = 0; w < l.count; w += kWarp) {
    uint32_t more[kWarp], sum[kWarp], high[kWarp];
    for (uint32_t& m : more) m = ones;
    for (uint32_t k = 0; carries_in && k < std::size(carries.in); ++k) {
      if (!is_used(carries.in[k])) continue;
      const int8_t* carry = l.reg<int8_t>(carries.in[k]) + w;
      for (size_t i = 0; i < kWarp; ++i) more[i] += carry[i] & 1;
    }
    for (size_t i = 0; i < kWarp; ++i)
      sum[i] = (a[w + i] ^ flip_a) + (b[w + i] ^ flip_b) + (c[w + i] ^ flip_c) + more[i];
    if (!carries_out) {
      keep(l, w, l.reg<uint32_t>(in.d), sum);
      continue;
    }
    for (size_t i = 0; i < kWarp; ++i) {
      const uint32_t x = a[w + i] ^ flip_a, two = x + (b[w + i] ^ flip_b), z = c[w + i] ^ flip_c,
                     three = two + z;
      high[i] = uint32_t{two < x} + uint32_t{three < z} + uint32_t{sum[i] < more[i]};
    }
    keep(l, w, l.reg<uint32_t>(in.d), sum);
    for (uint32_t k = 0; k < 2; ++k) {
      if (!is_used(carries.out[k])) continue;
      int8_t carry[kWarp];
      for (size_t i = 0; i < kWarp; ++i) carry[i] = static_cast<int8_t>(high[i] > k ? -1 : 0);
      keep(l, w, l.reg<int8_t>(carries.out[k]), carry);
    }
  }
}

void predicate_table(Lanes& l, const Operands& in) {
  const int8_t *a = l.reg<int8_t>(in.a), *b = l.reg<int8_t>(in.b), *c = l.reg<int8_t>(in.c);
  int8_t table[8];  // of c, b, a
  for (uint32_t k = 0; k < 8; ++k) table[k] = in.small >> k & 1 ? -1 : 0;
  auto choose = [](int8_t p, int8_t yes, int8_t no) { return static_cast<int8_t>((p & yes) | (~p & no)); };
  store<int8_t>(l, in.d, [&](size_t i) {
    auto of_c = [&](uint32_t k) { return choose(c[i], table[k + 1], table[k]); };
    return choose(a[i], choose(b[i], of_c(6), of_c(4)), choose(b[i], of_c(2), of_c(0)));
  });
}

void pack_predicates(Lanes& l, const Operands& in) {
  const auto& bits = *static_cast<const PredicateBits*>(in.data);
  const uint32_t* a = l.reg<uint32_t>(in.a);
  store<uint32_t>(l, in.d, [&](size_t i) { return a[i] & ~bits.mask; });
  for (uint32_t p = 0; p < 7; ++p) {
    if (!(bits.mask >> p & 1)) continue;
    const int8_t* from = l.reg<int8_t>(bits.places[p]);
    const uint32_t* so_far = l.reg<uint32_t>(in.d);
    store<uint32_t>(l, in.d, [&](size_t i) { return so_far[i] | (from[i] & 1u) << p; });
  }
}

void unpack_predicates(Lanes& l, const Operands& in) {
  const auto& bits = *static_cast<const PredicateBits*>(in.data);
  const uint32_t* a = l.reg<uint32_t>(in.a);
  for (uint32_t p = 0; p < 7; ++p)
    if (bits.mask >> p & 1)
      store<int8_t>(l, bits.places[p], [&](size_t i) { return static_cast<int8_t>(-(a[i] >> p & 1)); });
}

}  // namespace

extern const SumHandlers kSums;
const SumHandlers kSums{add3, predicate_table, pack_predicates, unpack_predicates};

}  // namespace SIMD_ISA
}  // namespace triton_runner::lanes
