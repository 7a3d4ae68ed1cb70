// Widens narrow floats to f32 and narrows from it, also rows of them for the operands of dots. The casts of
// the IR are in cast.cpp.
#include <triton_runner/num/formats.h>

#include "simd/common.h"
#include "simd/transpose.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

template <Format f>
inline void widen_run(float* out, const void* in, int64_t n) {
  auto* x = static_cast<const uint8_t*>(in);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = decode<f>(x[i]);
}

template <Format f, Rounding kRounding>
void narrow(void* out, const void* in, const void*, const void*, int64_t n) {
  auto* o = static_cast<uint8_t*>(out);
  auto* x = static_cast<const float*>(in);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<uint8_t>(Codec<f>::template encode<kRounding>(x[i]));
}

template <class Half>  // F16, BF16
NUM_INLINE void widen_half_run(float* out, const void* in, int64_t n) {
  Half::widen(out, static_cast<const uint16_t*>(in), n);
}
template <class Half, Rounding kRounding>
void narrow_half(void* out, const void* in, const void*, const void*, int64_t n) {
  Half::template narrow<kRounding>(static_cast<uint16_t*>(out), static_cast<const float*>(in), n);
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

// cvt.rna.tf32.f32 (or truncation), as an f32 with 10 mantissa bits.
template <Rounding kRounding>
NUM_INLINE float round_tf32(float value) {
  uint32_t x = bits_as<uint32_t>(value);
  uint32_t magnitude = x & 0x7fffffff;
  uint32_t rounded = (x + (kRounding == Rounding::kNearestEven ? 0x1000u : 0u)) & 0xffffe000;
  uint32_t special = magnitude > 0x7f800000 ? 0x7fffffffu : x;
  return bits_as<float>(magnitude >= 0x7f800000 ? special : rounded);
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
  X(kF16, widen_half_run<F16>, 2)                     \
  X(kBF16, widen_half_run<BF16>, 2)                   \
  X(kF32, copy_run, 4)                                \
  X(kTF32, round_tf32_run<Rounding::kNearestEven>, 4) \
  X(kF8E4M3FN, widen_run<kE4m3Format>, 1)             \
  X(kF8E5M2, widen_run<kE5m2Format>, 1)               \
  X(kF8E4M3FNUZ, widen_run<kE4m3FnuzFormat>, 1)       \
  X(kF8E5M2FNUZ, widen_run<kE5m2FnuzFormat>, 1)       \
  X(kF8E4M3B11FNUZ, widen_run<kE4b15Format>, 1)       \
  X(kF8E8M0FNU, widen_scale_run, 1)                   \
  X(kF6E2M3FN, widen_run<kE2m3Format>, 1)             \
  X(kF6E3M2FN, widen_run<kE3m2Format>, 1)             \
  X(kF4E2M1FN, widen_run<kE2m1Format>, 1)

template <Rounding kRounding>
Loop narrow_loop_of(Type to) {
  switch (to) {
#define CASE(type, ...) \
  case Type::type:      \
    return __VA_ARGS__;
    CASE(kF16, narrow_half<F16, kRounding>)
    CASE(kBF16, narrow_half<BF16, kRounding>)
    CASE(kF32, as_loop<copy_run>)
    CASE(kTF32, as_loop<round_tf32_run<kRounding>>)
    CASE(kF8E4M3FN, narrow<kE4m3Format, kRounding>)
    CASE(kF8E5M2, narrow<kE5m2Format, kRounding>)
    CASE(kF8E4M3FNUZ, narrow<kE4m3FnuzFormat, kRounding>)
    CASE(kF8E5M2FNUZ, narrow<kE5m2FnuzFormat, kRounding>)
    CASE(kF8E4M3B11FNUZ, narrow<kE4b15Format, kRounding>)
    CASE(kF8E8M0FNU, narrow_scale<kRounding>)
    CASE(kF6E2M3FN, narrow<kE2m3Format, kRounding>)
    CASE(kF6E3M2FN, narrow<kE3m2Format, kRounding>)
    CASE(kF4E2M1FN, narrow<kE2m1Format, kRounding>)
#undef CASE
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
