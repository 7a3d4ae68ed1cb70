// The bf16 dot of mma="fast": AVX512_BF16's instruction adds two products at a time to an f32, flushing
// denormals.
#if defined(NUM_ISA_avx512)
#pragma GCC target("avx512bf16")
#endif
#include "simd/common.h"

namespace triton_runner::num::NUM_ISA {

#if defined(NUM_ISA_avx512)
namespace {

struct Pairs {
  const uint32_t* a;  // [m][k / 2], neighbours in k
  int64_t a_row;
  const uint32_t* b;  // [k / 2][n], rows 2 i and 2 i + 1 interleaved
  int64_t b_row;
  int64_t k;  // pairs
};

template <int R, int C>
void block(float* c, int64_t ldc, Pairs in) {
  __m512 sum[R][C];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < C; ++v) sum[r][v] = _mm512_loadu_ps(c + r * ldc + v * 16);
  for (int64_t k = 0; k < in.k; ++k) {
    __m512i column[C];
#pragma GCC unroll 4
    for (int v = 0; v < C; ++v) column[v] = _mm512_loadu_si512(in.b + k * in.b_row + v * 16);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      __m512i row = _mm512_set1_epi32(static_cast<int>(in.a[r * in.a_row + k]));
#pragma GCC unroll 4
      for (int v = 0; v < C; ++v)
        sum[r][v] = _mm512_dpbf16_ps(sum[r][v], bits_as<__m512bh>(row), bits_as<__m512bh>(column[v]));
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < C; ++v) _mm512_storeu_ps(c + r * ldc + v * 16, sum[r][v]);
}

template <int R, int C>
void rows(float* c, int64_t ldc, Pairs in, int64_t m) {
  if constexpr (R > 0) {
    if (m == R)
      block<R, C>(c, ldc, in);
    else
      rows<R - 1, C>(c, ldc, in, m);
  }
}

template <int C>
void panel(float* c, int64_t ldc, Pairs in, int64_t m) {
  constexpr int R = 24 / C > 12 ? 12 : 24 / C;
  for (int64_t blocks = (m + R - 1) / R; blocks > 0; --blocks) {
    int64_t some = (m + blocks - 1) / blocks;
    rows<R, C>(c, ldc, in, some);
    c += some * ldc;
    in.a += some * in.a_row;
    m -= some;
  }
}

void dot_bf16(float* c, int64_t ldc, const uint32_t* a, int64_t a_row, const uint32_t* b, int64_t b_row,
              int64_t m, int64_t n, int64_t k) {
  int64_t j = 0;
  for (; j + 64 <= n; j += 64) panel<4>(c + j, ldc, Pairs{a, a_row, b + j, b_row, k}, m);
  for (; j + 32 <= n; j += 32) panel<2>(c + j, ldc, Pairs{a, a_row, b + j, b_row, k}, m);
  for (; j + 16 <= n; j += 16) panel<1>(c + j, ldc, Pairs{a, a_row, b + j, b_row, k}, m);
}

// out[i] = low[i] | high[i] << 16
void interleave(uint32_t* out, const uint16_t* low, const uint16_t* high, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = low[i] | static_cast<uint32_t>(high[i]) << 16;
}

}  // namespace
const Bf16Table bf16_table = {dot_bf16, interleave};
#else
const Bf16Table bf16_table = {nullptr, nullptr};
#endif

}  // namespace triton_runner::num::NUM_ISA
