// ldmatrix: rows of 16 bytes of shared memory to the registers of a warp.
#include "tables.h"
#include "transpose.h"

#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
#include <immintrin.h>
#endif

namespace triton_runner::simt {
namespace SIMD_ISA {
namespace {

// As many matrices as a vector holds, from kCount on.
#if defined(SIMD_ISA_avx512)
constexpr uint32_t kCount = 4;
struct Wide {
  __m512i v;
};
PTX_INLINE Wide low16(Wide a, Wide b) { return {_mm512_unpacklo_epi16(a.v, b.v)}; }
PTX_INLINE Wide high16(Wide a, Wide b) { return {_mm512_unpackhi_epi16(a.v, b.v)}; }
PTX_INLINE Wide low32(Wide a, Wide b) { return {_mm512_unpacklo_epi32(a.v, b.v)}; }
PTX_INLINE Wide high32(Wide a, Wide b) { return {_mm512_unpackhi_epi32(a.v, b.v)}; }
PTX_INLINE Wide low64(Wide a, Wide b) { return {_mm512_unpacklo_epi64(a.v, b.v)}; }
PTX_INLINE Wide high64(Wide a, Wide b) { return {_mm512_unpackhi_epi64(a.v, b.v)}; }
PTX_INLINE __m128i row_at(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
// Row i of each matrix.
PTX_INLINE Wide load(const std::byte* base, const uint32_t* at) {
  const __m256i low =
      _mm256_inserti128_si256(_mm256_castsi128_si256(row_at(base + at[0])), row_at(base + at[8]), 1);
  const __m256i high =
      _mm256_inserti128_si256(_mm256_castsi128_si256(row_at(base + at[16])), row_at(base + at[24]), 1);
  return {_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1)};
}
PTX_INLINE void store(Wide x, std::byte* const* out, uint32_t at) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out[0] + at), _mm512_castsi512_si128(x.v));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out[1] + at), _mm512_extracti32x4_epi32(x.v, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out[2] + at), _mm512_extracti32x4_epi32(x.v, 2));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out[3] + at), _mm512_extracti32x4_epi32(x.v, 3));
}
#elif defined(SIMD_ISA_avx2)
constexpr uint32_t kCount = 2;
struct Wide {
  __m256i v;
};
PTX_INLINE Wide low16(Wide a, Wide b) { return {_mm256_unpacklo_epi16(a.v, b.v)}; }
PTX_INLINE Wide high16(Wide a, Wide b) { return {_mm256_unpackhi_epi16(a.v, b.v)}; }
PTX_INLINE Wide low32(Wide a, Wide b) { return {_mm256_unpacklo_epi32(a.v, b.v)}; }
PTX_INLINE Wide high32(Wide a, Wide b) { return {_mm256_unpackhi_epi32(a.v, b.v)}; }
PTX_INLINE Wide low64(Wide a, Wide b) { return {_mm256_unpacklo_epi64(a.v, b.v)}; }
PTX_INLINE Wide high64(Wide a, Wide b) { return {_mm256_unpackhi_epi64(a.v, b.v)}; }
PTX_INLINE Wide load(const std::byte* base, const uint32_t* at) {
  auto row = [&](uint32_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(base + at[i])); };
  return {_mm256_inserti128_si256(_mm256_castsi128_si256(row(0)), row(8), 1)};
}
PTX_INLINE void store(Wide x, std::byte* const* out, uint32_t at) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out[0] + at), _mm256_castsi256_si128(x.v));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out[1] + at), _mm256_extracti128_si256(x.v, 1));
}
#else
constexpr uint32_t kCount = 1;
typedef Row Wide;
PTX_INLINE Wide load(const std::byte* base, const uint32_t* at) { return load_row(base + at[0]); }
PTX_INLINE void store(Wide x, std::byte* const* out, uint32_t at) { store_row(out[0] + at, x); }
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
    Wide tile[8];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) tile[i] = load(base, at + 8 * r + i);
    transpose(tile);
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) store(tile[i], out + r, 16 * i);
  }
  for (; r < count; ++r) {
    Row tile[8];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) tile[i] = load_row(base + at[8 * r + i]);
    transpose(tile);
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) store_row(out[r] + 16 * i, tile[i]);
  }
  return true;
}

}  // namespace SIMD_ISA
}  // namespace triton_runner::simt
