// Sums rows in the order that reduce.h fixes: 64 accumulators, then their halves with each other.
#pragma once
#include "simd/common.h"
#include "simd/width.h"

#include <triton_runner/num/reduce_ops.h>

namespace triton_runner::num::SIMD_ISA {
namespace {

// 0, 1, ... n - 1, for the lanes of a shuffle.
template <int... i>
struct List {};
template <int n, int... i>
struct Make : Make<n - 1, n - 1, i...> {};
template <int... i>
struct Make<0, i...> {
  using type = List<i...>;
};
template <int n>
using Indices = typename Make<n>::type;

// The 64 accumulators of one sum, in registers.
template <class T, template <class> class Op>
struct Accumulators {
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
  static constexpr int kVectors = kAccumulators / kLanes > 0 ? kAccumulators / kLanes : 1;
  static_assert(kVectors * kLanes == kAccumulators);
  typedef T V __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
  V v[kVectors];

  Accumulators() {
    V identity;
    for (int i = 0; i < kLanes; ++i) identity[i] = Op<T>::kIdentity;
    for (V& x : v) x = identity;
  }
  inline void add_block(const T* x) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) {
      V element = *reinterpret_cast<const Unaligned*>(x + i * kLanes);
      v[i] = Op<T>{}(v[i], element);
    }
  }
  // Elements go to accumulators 0, 1, ... so every call but the last brings a multiple of 64.
  inline void add(const T* x, int64_t n) {
    int64_t i = 0;
    for (; i + kAccumulators <= n; i += kAccumulators) add_block(x + i);
    int64_t left = n - i;
    if (left == 0) return;
#pragma GCC unroll 16
    for (int k = 0; k < kVectors; ++k) {  // whole vectors, then what is left of one
      if (left < kLanes) {
        if (left > 0) v[k] = Op<T>{}(v[k], part(x + i + k * kLanes, left, Op<T>::kIdentity));
        return;
      }
      V element = *reinterpret_cast<const Unaligned*>(x + i + k * kLanes);
      v[k] = Op<T>{}(v[k], element);
      left -= kLanes;
    }
  }
  // Adds what is left of a row, and constants up to a whole block.
  inline void add_rest(const T* x, int64_t n, T constant) {
#pragma GCC unroll 16
    for (int k = 0; k < kVectors; ++k) v[k] = Op<T>{}(v[k], part(x + k * kLanes, n - k * kLanes, constant));
  }
  // A block of one constant; whether that changed anything.
  inline bool add_constant(T constant) {
    const V element = all(constant);
    Bits changed{};
#pragma GCC unroll 16
    for (int k = 0; k < kVectors; ++k) {
      const V sum = Op<T>{}(v[k], element);
      changed |= bits_as<Bits>(sum) ^ bits_as<Bits>(v[k]);
      v[k] = sum;
    }
    uint64_t any = 0;
    for (int k = 0; k < kVectorBytes / 8; ++k) any |= changed[k];
    return any != 0;
  }
  inline T fold() { return fold_lanes<kLanes / 2>(fold_vectors()); }
  inline V fold_vectors() {
#pragma GCC unroll 8
    for (int half = kVectors / 2; half > 0; half /= 2)
#pragma GCC unroll 16
      for (int i = 0; i < half; ++i) v[i] = Op<T>{}(v[i], v[i + half]);
    return v[0];
  }

 private:
  typedef uint64_t Bits __attribute__((vector_size(kVectorBytes)));
  static inline V all(T x) { return x - V{}; }  // x - 0 is x, -0 too
  // The first n elements (none: n <= 0), then a constant.
  static inline V part(const T* x, int64_t n, T constant) {
    if (n >= kLanes) return *reinterpret_cast<const Unaligned*>(x);
#if defined(SIMD_ISA_avx512)
    if constexpr (sizeof(T) >= 4) {  // 16 lanes at most
      const uint32_t on = n > 0 ? (1u << n) - 1 : 0;
      if constexpr (sizeof(T) == 4)
        return bits_as<V>(
            _mm512_mask_loadu_epi32(bits_as<__m512i>(all(constant)), static_cast<__mmask16>(on), x));
      else
        return bits_as<V>(
            _mm512_mask_loadu_epi64(bits_as<__m512i>(all(constant)), static_cast<__mmask8>(on), x));
    }
#endif
    V element = all(constant);
    if (n > 0) __builtin_memcpy(&element, x, static_cast<size_t>(n) * sizeof(T));
    return element;
  }
  // Lane i with lane i + half, for ever smaller halves.
  template <int half>
  static inline T fold_lanes(V x) {
    if constexpr (half == 0) {
      return x[0];
    } else {
      return fold_lanes<half / 2>(Op<T>{}(x, shifted<half>(x, Indices<kLanes>{})));
    }
  }
  template <int half, int... i>
  static inline V shifted(V x, List<i...>) {
    return __builtin_shufflevector(x, x, ((i + half) % kLanes)...);
  }
};

// Sums of as many rows as a vector has lanes, each left in a vector: lane i of each with lane i + half for
// ever smaller halves, as fold_lanes does one by one, two rows an operation.
template <class T, template <class> class Op>
struct RowsAtOnce {
  using V = typename Accumulators<T, Op>::V;
  static constexpr int kLanes = Accumulators<T, Op>::kLanes;
  V row[kLanes];

  inline void set(int i, const T* x, int64_t n) {
    Accumulators<T, Op> sum;
    if (n == kAccumulators)
      sum.add_block(x);
    else
      sum.add(x, n);
    row[i] = sum.fold_vectors();
  }
  inline V fold() const { return pair<1>(pair<2>(quarter(0), quarter(1)), pair<2>(quarter(2), quarter(3))); }

 private:
  // Rows first, first + 4, ..., each in four lanes.
  inline V quarter(int first) const {
    const V* r = row + first;
    if constexpr (kLanes == 4) return r[0];
    if constexpr (kLanes == 8) return pair<4>(r[0], r[4]);
    if constexpr (kLanes == 16) return pair<4>(pair<8>(r[0], r[4]), pair<8>(r[8], r[12]));
  }
  // Both halves of what x and y hold of each row. Within 128 bits no instruction crosses them.
  static constexpr int lane(int half, int i) {
    if (half >= 4) {
      const int from = i / (kLanes / 2), at = i % (kLanes / 2);
      return from * kLanes + at / half * 2 * half + at % half;
    }
    return i % 4 / 2 * kLanes + i / 4 * 4 + i % 2 * (half == 1 ? 2 : 1);
  }
  template <int half, int... i>
  static inline V pair_of(V x, V y, List<i...>) {
    return Op<T>{}(__builtin_shufflevector(x, y, lane(half, i)...),
                   __builtin_shufflevector(x, y, (lane(half, i) + half)...));
  }
  template <int half>
  static inline V pair(V x, V y) {
    return pair_of<half>(x, y, Indices<kLanes>{});
  }
};

}  // namespace
}  // namespace triton_runner::num::SIMD_ISA
