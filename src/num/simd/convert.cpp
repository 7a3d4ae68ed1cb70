// Widening of narrow floats to f32 and narrowing from it; rows of them for the operands of dots.
#include "simd/codec.h"
#include "simd/transpose.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

template <class Code, class C>
inline void widen_run(float* out, const void* in, int64_t n) {
  auto* x = static_cast<const Code*>(in);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = C::decode(x[i]);
}

template <class Code, class C, Rounding kRounding>
void narrow(void* out, const void* in, const void*, const void*, int64_t n) {
  auto* o = static_cast<Code*>(out);
  auto* x = static_cast<const float*>(in);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<Code>(C::template encode<kRounding>(x[i]));
}

// f16 has instructions. They quiet NaNs and keep their payload on the way up; on the way down NaN is made
// canonical.
NUM_INLINE void widen_f16_run(float* out, const void* in, int64_t n) {
  auto* x = static_cast<const uint16_t*>(in);
  int64_t i = 0;
#if defined(SIMD_ISA_avx512)
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i))));
#endif
#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
#endif
  widen_run<uint16_t, F16>(out + i, x + i, n - i);
}

template <Rounding kRounding>
void narrow_f16(void* out, const void* in, const void*, const void*, int64_t n) {
  auto* o = static_cast<uint16_t*>(out);
  auto* x = static_cast<const float*>(in);
  int64_t i = 0;
#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
  constexpr int kMode = kRounding == Rounding::kNearestEven ? 0 : 3;
#endif
#if defined(SIMD_ISA_avx512)
  for (; i + 16 <= n; i += 16) {
    __m512 v = _mm512_loadu_ps(x + i);
    __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    __m256i h = _mm256_mask_blend_epi16(nan, _mm512_cvtps_ph(v, kMode), _mm256_set1_epi16(0x7fff));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(o + i), h);
  }
#elif defined(SIMD_ISA_avx2)
  for (; i + 32 <= n; i += 32) {  // no NaN among them: nothing to make canonical
    __m256 v[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) v[k] = _mm256_loadu_ps(x + i + 8 * k);
    const __m256 nan =
        _mm256_or_ps(_mm256_cmp_ps(v[0], v[1], _CMP_UNORD_Q), _mm256_cmp_ps(v[2], v[3], _CMP_UNORD_Q));
    if (_mm256_movemask_ps(nan)) break;
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(o + i + 8 * k), _mm256_cvtps_ph(v[k], kMode));
  }
  for (; i + 8 <= n; i += 8) {
    __m256 v = _mm256_loadu_ps(x + i);
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    __m128i nan16 = _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
    __m128i h = _mm_blendv_epi8(_mm256_cvtps_ph(v, kMode), _mm_set1_epi16(0x7fff), nan16);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(o + i), h);
  }
#endif
  narrow<uint16_t, F16, kRounding>(o + i, x + i, nullptr, nullptr, n - i);
}

NUM_INLINE void widen_bf16_run(float* out, const void* in, int64_t n) {
  auto* x = static_cast<const uint16_t*>(in);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = bits_as<float>(static_cast<uint32_t>(x[i]) << 16);
}

inline void widen_scale_run(float* out, const void* in, int64_t n) {  // E8M0: f32's own exponent field
  auto* x = static_cast<const uint8_t*>(in);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    uint32_t code = x[i];
    uint32_t bits = code == 0 ? 0x400000u : code << 23;
    out[i] = bits_as<float>(code == 0xff ? 0x7fc00000u : bits);
  }
}

inline void copy_run(float* out, const void* in, int64_t n) {
  __builtin_memcpy(out, in, static_cast<size_t>(n) * 4);
}

template <Rounding kRounding>
inline void round_tf32_run(float* out, const void* in, int64_t n) {
  auto* x = static_cast<const float*>(in);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = round_tf32<kRounding>(x[i]);
}

template <Rounding kRounding>
void narrow_scale(void* out, const void* in, const void*, const void*, int64_t n) {
  auto* o = static_cast<uint8_t*>(out);
  auto* x = static_cast<const float*>(in);
  for (int64_t i = 0; i < n; ++i)
    o[i] = static_cast<uint8_t>(narrow_from_double(x[i], Type::kF8E8M0FNU, kRounding));
}

using Run = void (*)(float* out, const void* in, int64_t n);
template <Run kRun>
void as_loop(void* out, const void* a, const void*, const void*, int64_t n) {
  kRun(static_cast<float*>(out), a, n);
}

template <Run kRun, int kSize, int kCols>
void rows_of_width(float* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) kRun(out + r * out_stride, in + r * in_stride * kSize, kCols);
}

template <Run kRun, int kSize>
void rows_of(float* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows, int64_t cols) {
  auto* x = static_cast<const char*>(in);
  if constexpr (kSize == 2) {  // the rows of most products: no loop within a row
    if (cols == 16) return rows_of_width<kRun, kSize, 16>(out, out_stride, x, in_stride, rows);
    if (cols == 32) return rows_of_width<kRun, kSize, 32>(out, out_stride, x, in_stride, rows);
    if (cols == 64) return rows_of_width<kRun, kSize, 64>(out, out_stride, x, in_stride, rows);
    if (cols == 128) return rows_of_width<kRun, kSize, 128>(out, out_stride, x, in_stride, rows);
  }
  for (int64_t r = 0; r < rows; ++r) kRun(out + r * out_stride, x + r * in_stride * kSize, cols);
}

// The types and their widening: X(type, run, bytes).
#define NUM_WIDENINGS(X)                              \
  X(kF16, widen_f16_run, 2)                           \
  X(kBF16, widen_bf16_run, 2)                         \
  X(kF32, copy_run, 4)                                \
  X(kTF32, round_tf32_run<Rounding::kNearestEven>, 4) \
  X(kF8E4M3FN, (widen_run<uint8_t, E4M3>), 1)         \
  X(kF8E5M2, (widen_run<uint8_t, E5M2>), 1)           \
  X(kF8E4M3FNUZ, (widen_run<uint8_t, E4M3Fnuz>), 1)   \
  X(kF8E5M2FNUZ, (widen_run<uint8_t, E5M2Fnuz>), 1)   \
  X(kF8E4M3B11FNUZ, (widen_run<uint8_t, E4B15>), 1)   \
  X(kF8E8M0FNU, widen_scale_run, 1)                   \
  X(kF6E2M3FN, (widen_run<uint8_t, E2M3>), 1)         \
  X(kF6E3M2FN, (widen_run<uint8_t, E3M2>), 1)         \
  X(kF4E2M1FN, (widen_run<uint8_t, E2M1>), 1)

template <Rounding kRounding>
Loop narrow_loop_of(Type to) {
  switch (to) {
    case Type::kF16:
      return narrow_f16<kRounding>;
    case Type::kBF16:
      return narrow<uint16_t, BF16, kRounding>;
    case Type::kF32:
      return as_loop<copy_run>;
    case Type::kTF32:
      return as_loop<round_tf32_run<kRounding>>;
    case Type::kF8E4M3FN:
      return narrow<uint8_t, E4M3, kRounding>;
    case Type::kF8E5M2:
      return narrow<uint8_t, E5M2, kRounding>;
    case Type::kF8E4M3FNUZ:
      return narrow<uint8_t, E4M3Fnuz, kRounding>;
    case Type::kF8E5M2FNUZ:
      return narrow<uint8_t, E5M2Fnuz, kRounding>;
    case Type::kF8E4M3B11FNUZ:
      return narrow<uint8_t, E4B15, kRounding>;
    case Type::kF8E8M0FNU:
      return narrow_scale<kRounding>;
    case Type::kF6E2M3FN:
      return narrow<uint8_t, E2M3, kRounding>;
    case Type::kF6E3M2FN:
      return narrow<uint8_t, E3M2, kRounding>;
    case Type::kF4E2M1FN:
      return narrow<uint8_t, E2M1, kRounding>;
    default:
      return nullptr;
  }
}

}  // namespace

Loop find_widen(Type from) {
  switch (from) {
#define CASE(type, run, size) \
  case Type::type:            \
    return as_loop<run>;
    NUM_WIDENINGS(CASE)
#undef CASE
    default:
      return nullptr;
  }
}

Loop find_narrow(Type to, Rounding rounding) {
  return rounding == Rounding::kNearestEven ? narrow_loop_of<Rounding::kNearestEven>(to)
                                            : narrow_loop_of<Rounding::kTowardZero>(to);
}

void widen_rows(Type type, float* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
                int64_t cols);
void widen_rows(Type type, float* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
                int64_t cols) {
  switch (type) {
#define CASE(type, run, size) \
  case Type::type:            \
    return rows_of<run, size>(out, out_stride, in, in_stride, rows, cols);
    NUM_WIDENINGS(CASE)
#undef CASE
    default:
      return;
  }
}

bool widen_turned(Type type, float* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
                  int64_t cols);
bool widen_turned([[maybe_unused]] Type type, [[maybe_unused]] float* out,
                  [[maybe_unused]] int64_t out_stride, [[maybe_unused]] const void* in,
                  [[maybe_unused]] int64_t in_stride, [[maybe_unused]] int64_t rows,
                  [[maybe_unused]] int64_t cols) {
#if defined(SIMD_ISA_avx512) || defined(SIMD_ISA_avx2)
  if ((type != Type::kF16 && type != Type::kBF16) || rows % 8 || cols % 8) return false;
  auto* x = static_cast<const uint16_t*>(in);
  auto turn = [&](auto widen) __attribute__((always_inline)) {
    for (int64_t r = 0; r < rows; r += 8)
      for (int64_t c = 0; c < cols; c += 8)
        each_column_of_8x8(x + c * in_stride + r, in_stride,
                           [&](int i, __m128i column) __attribute__((always_inline)) {
                             _mm256_storeu_ps(out + (r + i) * out_stride + c, widen(column));
                           });
  };
  if (type == Type::kF16)
    turn([](__m128i v) __attribute__((always_inline)) { return _mm256_cvtph_ps(v); });
  else
    turn([](__m128i v) __attribute__((always_inline)) {
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
    });
  return true;
#else
  return false;
#endif
}

}  // namespace triton_runner::num::SIMD_ISA
