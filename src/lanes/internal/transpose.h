// Transposes matrices of 8 by 8 elements of 16 bits in vector registers; a row has 16 bytes. A vector holds
// one matrix, or one in each 16 bytes of it.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>

#include <triton_runner/lanes/lanes.h>

namespace triton_runner::lanes {
namespace {

template <class E, size_t kBytes>
struct Vector {
  typedef E type __attribute__((vector_size(kBytes)));
};
template <uint32_t kCount>
using MatrixRows = typename Vector<uint16_t, 16 * kCount>::type;
using MatrixRow = MatrixRows<1>;

LANES_INLINE MatrixRow load_row(const void* p) {
  MatrixRow r;
  std::memcpy(&r, p, 16);
  return r;
}
LANES_INLINE void store_row(void* p, MatrixRow r) { std::memcpy(p, &r, 16); }

// Elements of the lower or of the upper halves of two rows, in turn, in each 16 bytes.
template <class E, bool kHigh, class V, size_t... I>
LANES_INLINE V interleave(V a, V b, std::index_sequence<I...>) {
  using T = typename Vector<E, sizeof(V)>::type;
  constexpr size_t kRow = 16 / sizeof(E);
  return (V)__builtin_shufflevector(
      (T)a, (T)b, (I / kRow * kRow + kHigh * kRow / 2 + I % kRow / 2 + I % 2 * sizeof...(I))...);
}
template <class E, bool kHigh, class V>
LANES_INLINE V interleave(V a, V b) {
  return interleave<E, kHigh>(a, b, std::make_index_sequence<sizeof(V) / sizeof(E)>());
}

template <class V>
LANES_INLINE void transpose(V (&r)[8]) {
  V a[8], b[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // columns 0 to 3 | 4 to 7 of two rows
    a[i] = interleave<uint16_t, false>(r[2 * i], r[2 * i + 1]);
    a[4 + i] = interleave<uint16_t, true>(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // 0, 1 | 2, 3 | 4, 5 | 6, 7 of four rows
    b[i / 2 * 4 + i % 2] = interleave<uint32_t, false>(a[2 * i], a[2 * i + 1]);
    b[i / 2 * 4 + 2 + i % 2] = interleave<uint32_t, true>(a[2 * i], a[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[2 * i] = interleave<uint64_t, false>(b[2 * i], b[2 * i + 1]);
    r[2 * i + 1] = interleave<uint64_t, true>(b[2 * i], b[2 * i + 1]);
  }
}

}  // namespace
}  // namespace triton_runner::lanes
