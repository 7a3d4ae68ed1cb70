// Loads matrices (ldmatrix): rows of 16 bytes of shared memory become the registers of a warp.
#include <triton_runner/lanes/tables.h>
#include <triton_runner/lanes/transpose.h>

#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
#include <immintrin.h>
#endif

namespace triton_runner::lanes {
namespace SIMD_ISA {
namespace {

// A row of each of as many matrices as a vector holds.
#if defined(SIMD_ISA_avx512)
constexpr uint32_t kCount = 4;
LANES_INLINE MatrixRows<4> load(const std::byte* base, const uint32_t* at) {
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)load_row(base + at[0])),
                                              (__m128i)load_row(base + at[8]), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)load_row(base + at[16])),
                                               (__m128i)load_row(base + at[24]), 1);
  return (MatrixRows<4>)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
LANES_INLINE void store(MatrixRows<4> x, std::byte* const* out, uint32_t at) {
  store_row(out[0] + at, (MatrixRow)_mm512_castsi512_si128((__m512i)x));
  store_row(out[1] + at, (MatrixRow)_mm512_extracti32x4_epi32((__m512i)x, 1));
  store_row(out[2] + at, (MatrixRow)_mm512_extracti32x4_epi32((__m512i)x, 2));
  store_row(out[3] + at, (MatrixRow)_mm512_extracti32x4_epi32((__m512i)x, 3));
}
#elif defined(SIMD_ISA_avx2)
constexpr uint32_t kCount = 2;
LANES_INLINE MatrixRows<2> load(const std::byte* base, const uint32_t* at) {
  return (MatrixRows<2>)_mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)load_row(base + at[0])),
                                                (__m128i)load_row(base + at[8]), 1);
}
LANES_INLINE void store(MatrixRows<2> x, std::byte* const* out, uint32_t at) {
  store_row(out[0] + at, (MatrixRow)_mm256_castsi256_si128((__m256i)x));
  store_row(out[1] + at, (MatrixRow)_mm256_extracti128_si256((__m256i)x, 1));
}
#else
constexpr uint32_t kCount = 1;
LANES_INLINE MatrixRow load(const std::byte* base, const uint32_t* at) { return load_row(base + at[0]); }
LANES_INLINE void store(MatrixRow x, std::byte* const* out, uint32_t at) { store_row(out[0] + at, x); }
#endif

}  // namespace

bool load_matrices(const std::byte* base, uint32_t bytes, const uint32_t* a, uint32_t add, uint32_t count,
                   bool trans, std::byte* const* out) {
  uint32_t at[32], high = 0, bits = 0;
  auto find = [&](uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
      at[i] = a[i] + add;
      high = at[i] > high ? at[i] : high;
      bits |= at[i];
    }
  };
  count == 4 ? find(32) : find(8 * count);
  if (bytes < 16 || high > bytes - 16 || bits % 16 != 0) [[unlikely]]
    return false;
  if (!trans) {
    for (uint32_t r = 0; r < count; ++r)
#pragma GCC unroll 8
      for (uint32_t i = 0; i < 8; ++i) store_row(out[r] + 16 * i, load_row(base + at[8 * r + i]));
    return true;
  }
  uint32_t r = 0;
  for (; r + kCount <= count; r += kCount) {
    MatrixRows<kCount> tile[8];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) tile[i] = load(base, at + 8 * r + i);
    transpose(tile);
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) store(tile[i], out + r, 16 * i);
  }
  for (; r < count; ++r) {
    MatrixRow tile[8];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) tile[i] = load_row(base + at[8 * r + i]);
    transpose(tile);
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) store_row(out[r] + 16 * i, tile[i]);
  }
  return true;
}

}  // namespace SIMD_ISA
}  // namespace triton_runner::lanes
