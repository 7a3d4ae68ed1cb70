// Multiplies matrices of tiles: C += A * B, register-blocked, operands of any element type and any strides.
//
// Every element of C is one chain of fused multiply-adds in ascending k that starts from C's own value, in
// the accumulator's type: the same bits on every instruction set. Operands are first converted exactly to the
// accumulator's type (tf32 operands round to 10 mantissa bits, half away from zero, as cvt.rna.tf32 does).
#pragma once
#include <cstdint>

#include <triton_runner/num/ahead.h>
#include <triton_runner/num/types.h>

namespace triton_runner::num {

// A view of a matrix: element (i, j) at data + (i * row_stride + j * col_stride) * size_of(type). A
// transposed view swaps the strides.
struct MatrixView {
  const void* data;
  Type type;
  int64_t row_stride;  // elements
  int64_t col_stride;
};

// The start of the elements of an f32 product, if it is not c's own value.
struct DotStart {
  const float* value = nullptr;  // all from this one: c is written only
  const float* scale = nullptr;  // row i from c's value times scale[i * scale_step], rounded
  int64_t scale_step = 0;
};

// c [m, n] f32, rows ldc elements apart; a [m, k] and b [k, n] of any float type (fp8, f6, f4 one a byte).
// `ahead`: two blocks of memory that are fetched on the way.
void dot_f32(float* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k,
             DotStart start = {}, const Ahead* ahead = nullptr);
// Widens an operand as dot_f32 does, for those that are used again and again: as contiguous rows.
void widen_matrix(float* out, MatrixView v, int64_t rows, int64_t cols);
// c is f16 (bits): accumulates in f32 from C's value over the whole of k and rounds once.
void dot_f16(uint16_t* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k);
// a, b f64 (or a narrower float).
void dot_f64(double* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k);
// a, b i8, signed; wraps modulo 2^32.
void dot_i32(int32_t* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k);

// Units that multiply bf16 by other sums than dot_f32's: AVX512_BF16, two products at a time onto an f32, or
// AMX, tiles of 16 x 32 times 32 x 16 (doc/internals/numerics.md). AMX is the process's once asked about.
enum class Bf16Unit : uint8_t { kNone, kPairs, kTiles };
bool bf16_unit_available(Bf16Unit unit);  // to the current instruction set
Bf16Unit best_bf16_unit();                // the fastest one, exact sums among them
// mma="fast": both operands bf16, k even (kPairs: n a multiple of 16). False, and nothing done, where types,
// shape or machine do not allow it.
bool dot_bf16_fast(float* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k,
                   DotStart start = {}, Bf16Unit unit = best_bf16_unit());
// To be called by a thread that is done with fast dots: they leave AMX's registers in use, which signal
// frames and switches between threads would go on to carry.
void release_bf16_unit();

}  // namespace triton_runner::num
