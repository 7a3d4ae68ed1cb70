// Multiplies bf16 for mma="fast" by AVX512_BF16, whose instruction adds two products at a time to an f32,
// flushing denormals.
#if defined(SIMD_ISA_avx512) && !defined(__clang__)
#pragma GCC target("avx512bf16")
#endif
#include "simd/common.h"
#if defined(SIMD_ISA_avx512) && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512bf16"))), apply_to = function)
#endif

namespace triton_runner::num::SIMD_ISA {

#if defined(SIMD_ISA_avx512)
namespace {

typedef int32_t UnalignedPair __attribute__((aligned(2), may_alias));

struct Panel {
  int64_t ldc;
  int64_t a_row;
  const uint32_t* b;  // [k / 2][n], rows 2 i and 2 i + 1 interleaved
  int64_t b_row;
  int64_t k;  // pairs
};

template <int R, int C>
void block(float* __restrict c, const uint16_t* __restrict a, const Panel& p) {
  const int64_t ldc = p.ldc, a_row = p.a_row, b_row = p.b_row;
  __m512 sum[R][C];
  each<R, C>([&](int r, int v) { sum[r][v] = _mm512_loadu_ps(c + r * ldc + v * 16); });
  const uint32_t* b = p.b;
  for (int64_t k = p.k; k > 0; --k, a += 2, b += b_row) {
    __m512i column[C];
#pragma GCC unroll 4
    for (int v = 0; v < C; ++v) column[v] = _mm512_loadu_si512(b + v * 16);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      __m512i row = _mm512_set1_epi32(*reinterpret_cast<const UnalignedPair*>(a + r * a_row));
#pragma GCC unroll 4
      for (int v = 0; v < C; ++v)
        sum[r][v] = _mm512_dpbf16_ps(sum[r][v], bits_as<__m512bh>(row), bits_as<__m512bh>(column[v]));
    }
  }
  each<R, C>([&](int r, int v) { _mm512_storeu_ps(c + r * ldc + v * 16, sum[r][v]); });
}

template <int C>
constexpr int kRows = 24 / C > 12 ? 12 : 24 / C;
using Block = void (*)(float* c, const uint16_t* a, const Panel& p);
template <int C>
struct Blocks {
  Block of[kRows<C> + 1] = {};
  constexpr Blocks() { add<1>(); }
  template <int R>
  constexpr void add() {
    of[R] = block<R, C>;
    if constexpr (R < kRows<C>) add<R + 1>();
  }
};
template <int C>
constexpr Blocks<C> kBlocks;

template <int C>
void panel(float* c, const uint16_t* a, const Panel& p, int64_t m) {
  constexpr int R = kRows<C>;
  for (int64_t blocks = (m + R - 1) / R; blocks > 0; --blocks) {
    int64_t rows = (m + blocks - 1) / blocks;
    kBlocks<C>.of[rows](c, a, p);
    c += rows * p.ldc;
    a += rows * p.a_row;
    m -= rows;
  }
}

void dot(float* c, int64_t ldc, const uint16_t* a, int64_t a_row, const uint32_t* b, int64_t m, int64_t n,
         int64_t k, bool from_zero) {
  for (int64_t i = 0; i < m && from_zero; ++i) __builtin_memset(c + i * ldc, 0, static_cast<size_t>(n) * 4);
  int64_t j = 0;
  for (; j + 64 <= n; j += 64) panel<4>(c + j, a, Panel{ldc, a_row, b + j, n, k / 2}, m);
  for (; j + 32 <= n; j += 32) panel<2>(c + j, a, Panel{ldc, a_row, b + j, n, k / 2}, m);
  for (; j + 16 <= n; j += 16) panel<1>(c + j, a, Panel{ldc, a_row, b + j, n, k / 2}, m);
}

void pack(uint32_t* out, const uint16_t* b, int64_t b_row, int64_t n, int64_t k) {
  for (; k > 0; k -= 2, b += 2 * b_row, out += n)
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) out[j] = b[j] | static_cast<uint32_t>(b[b_row + j]) << 16;
}

}  // namespace
const Bf16Table bf16_pairs = {16, 0, dot, pack, nullptr};
#else
const Bf16Table bf16_pairs = {};
#endif

}  // namespace triton_runner::num::SIMD_ISA

#if defined(SIMD_ISA_avx512) && defined(__clang__)
#pragma clang attribute pop
#endif
