// RowScan scans one row in groups of eight: within a group in steps of distance 1, 2, 4; then the result of
// all groups before it is put in front. The additions are the same on every instruction set.
#pragma once
#include "simd/common.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

template <class T, template <class> class Op>
struct RowScan {
  static constexpr int kGroup = 8;
  typedef T V __attribute__((vector_size(kGroup * sizeof(T))));
  typedef T Unaligned __attribute__((vector_size(kGroup * sizeof(T)), aligned(1), may_alias));

  template <bool kReverse>
  static void run(T* o, const T* x, int64_t n) {
    T carry = Op<T>::kIdentity;
    V identity;
    for (int i = 0; i < kGroup; ++i) identity[i] = Op<T>::kIdentity;
    int64_t i = 0;
#if defined(SIMD_ISA_avx512)
    if constexpr (__is_same(T, float)) i = run_pairs<kReverse>(o, x, n, &carry);
#endif
    for (; i + kGroup <= n; i += kGroup) {
      int64_t at = kReverse ? n - kGroup - i : i;
      V v = turned<kReverse>(*reinterpret_cast<const Unaligned*>(x + at));
      v = prefixes(v, identity);
      V before;
      for (int k = 0; k < kGroup; ++k) before[k] = carry;
      carry = Op<T>{}(carry, v[kGroup - 1]);
      *reinterpret_cast<Unaligned*>(o + at) = turned<kReverse>(Op<T>{}(before, v));
    }
    if (i == n) return;
    V v = identity;
    for (int64_t k = i; k < n; ++k) v[k - i] = x[kReverse ? n - 1 - k : k];
    v = prefixes(v, identity);
    for (int64_t k = i; k < n; ++k) o[kReverse ? n - 1 - k : k] = Op<T>{}(carry, static_cast<T>(v[k - i]));
  }

 private:
#if defined(SIMD_ISA_avx512)
  // Two groups a vector, and what is before each of them in all of its lanes. How many elements that were.
  template <bool kReverse>
  static int64_t run_pairs(float* o, const float* x, int64_t n, float* carry) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i turn = _mm512_sub_epi32(_mm512_set1_epi32(15), lanes);
    auto step = [&](__m512 v, int distance, __mmask16 on) __attribute__((always_inline)) {
      const __m512 before = _mm512_permutexvar_ps(_mm512_sub_epi32(lanes, _mm512_set1_epi32(distance)), v);
      return _mm512_mask_blend_ps(on, v, Op<T>{}(before, v));
    };
    __m512 first = _mm512_set1_ps(*carry);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const int64_t at = kReverse ? n - 16 - i : i;
      __m512 v = _mm512_loadu_ps(x + at);
      if (kReverse) v = _mm512_permutexvar_ps(turn, v);
      v = step(v, 1, 0xfefe);
      v = step(v, 2, 0xfcfc);
      v = step(v, 4, 0xf0f0);
      const __m512 second = Op<T>{}(first, _mm512_permutexvar_ps(_mm512_set1_epi32(7), v));
      const __m512 next = Op<T>{}(second, _mm512_permutexvar_ps(_mm512_set1_epi32(15), v));
      v = Op<T>{}(_mm512_mask_blend_ps(0xff00, first, second), v);
      if (kReverse) v = _mm512_permutexvar_ps(turn, v);
      _mm512_storeu_ps(o + at, v);
      first = next;
    }
    *carry = first[0];
    return i;
  }
#endif
  template <bool kReverse>
  static V turned(V v) {
    if constexpr (kReverse) return __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0);
    return v;
  }
  static V prefixes(V v, V none) {
    v = Op<T>{}(static_cast<V>(__builtin_shufflevector(none, v, 0, 8, 9, 10, 11, 12, 13, 14)), v);
    v = Op<T>{}(static_cast<V>(__builtin_shufflevector(none, v, 0, 1, 8, 9, 10, 11, 12, 13)), v);
    return Op<T>{}(static_cast<V>(__builtin_shufflevector(none, v, 0, 1, 2, 3, 8, 9, 10, 11)), v);
  }
};

}  // namespace
}  // namespace triton_runner::num::SIMD_ISA
