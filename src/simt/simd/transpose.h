// 8 by 8 matrices of 16 bits, a row of 16 bytes each: one a vector, or one in each 16 bytes of it.
#pragma once
#include <cstdint>
#include <cstring>

#include <triton_runner/ptx/lanes.h>

namespace triton_runner::simt {
namespace {

typedef uint16_t Row __attribute__((vector_size(16)));
typedef uint32_t Row32 __attribute__((vector_size(16)));
typedef uint64_t Row64 __attribute__((vector_size(16)));

PTX_INLINE Row load_row(const void* p) {
  Row r;
  std::memcpy(&r, p, 16);
  return r;
}
PTX_INLINE void store_row(void* p, Row r) { std::memcpy(p, &r, 16); }

// Elements of the lower or of the upper halves of two rows, in turn.
PTX_INLINE Row low16(Row a, Row b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
PTX_INLINE Row high16(Row a, Row b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
PTX_INLINE Row low32(Row a, Row b) { return (Row)__builtin_shufflevector((Row32)a, (Row32)b, 0, 4, 1, 5); }
PTX_INLINE Row high32(Row a, Row b) { return (Row)__builtin_shufflevector((Row32)a, (Row32)b, 2, 6, 3, 7); }
PTX_INLINE Row low64(Row a, Row b) { return (Row)__builtin_shufflevector((Row64)a, (Row64)b, 0, 2); }
PTX_INLINE Row high64(Row a, Row b) { return (Row)__builtin_shufflevector((Row64)a, (Row64)b, 1, 3); }

// Of vectors that have low16() to high64().
template <class V>
PTX_INLINE void transpose(V (&r)[8]) {
  V a[8], b[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // columns 0 to 3 | 4 to 7 of two rows
    a[i] = low16(r[2 * i], r[2 * i + 1]);
    a[4 + i] = high16(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // 0, 1 | 2, 3 | 4, 5 | 6, 7 of four rows
    b[i / 2 * 4 + i % 2] = low32(a[2 * i], a[2 * i + 1]);
    b[i / 2 * 4 + 2 + i % 2] = high32(a[2 * i], a[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[2 * i] = low64(b[2 * i], b[2 * i + 1]);
    r[2 * i + 1] = high64(b[2 * i], b[2 * i + 1]);
  }
}

}  // namespace
}  // namespace triton_runner::simt
