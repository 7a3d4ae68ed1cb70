// Packing for dots: operands of any type and strides become f32 (f64, i32) with b's rows contiguous; k goes
// in blocks that keep the packed operands in cache, and c carries the chains from block to block.
#include <triton_runner/num/dot.h>

#include <algorithm>
#include <type_traits>

#include <triton_runner/num/elementwise.h>
#include <triton_runner/num/kernels.h>

#include "dispatch.h"
#include "scratch.h"

namespace triton_runner::num {
namespace {

constexpr int64_t kBlockK = 256;
constexpr int64_t kMostColumns = 64;  // that any instruction set multiplies at a time

thread_local Scratch scratch, scratch_c;

const DotTable& table() { return NUM_OF_ISA(current_isa(), dot_table); }

const void* element(MatrixView v, int64_t i, int64_t j) {
  return static_cast<const char*>(v.data) +
         (i * v.row_stride + j * v.col_stride) * static_cast<int64_t>(size_of(v.type));
}
MatrixView turned(MatrixView v) { return {v.data, v.type, v.col_stride, v.row_stride}; }

// The same matrix with contiguous rows: as it is, or copied through a transpose.
MatrixView with_contiguous_rows(MatrixView v, int64_t rows, int64_t cols) {
  if (v.col_stride == 1) return v;
  size_t size = size_of(v.type);
  void* copy = scratch.take(rows * cols * static_cast<int64_t>(size));
  int64_t shape[] = {rows, cols}, strides[] = {v.row_stride, v.col_stride};
  copy_view(copy, v.data, shape, strides, 2, size);
  return {copy, v.type, cols, 1};
}

// Widening of contiguous rows to the accumulator's type.
void widen_rows(float* out, int64_t stride, MatrixView v, int64_t rows, int64_t cols) {
  if (v.row_stride == cols && stride == cols) {  // one long row
    cols *= rows;
    rows = 1;
  }
  table().widen_rows(v.type, out, stride, v.data, v.row_stride, rows, cols);
}
void widen_rows(double* out, int64_t stride, MatrixView v, int64_t rows, int64_t cols) {
  Kernel kernel = elementwise_extf.kernel(v.type, Type::kF64);
  for (int64_t r = 0; r < rows; ++r) {
    const void* in = element(v, r, 0);
    kernel.run(out + r * stride, &in, 0, cols);
  }
}
void widen_rows(int32_t* out, int64_t stride, MatrixView v, int64_t rows, int64_t cols) {
  Kernel kernel = elementwise_extsi.kernel(v.type, Type::kI32);
  for (int64_t r = 0; r < rows; ++r) {
    const void* in = element(v, r, 0);
    kernel.run(out + r * stride, &in, 0, cols);
  }
}

template <class T>
struct Packed {
  const T* data;
  int64_t row, col;  // strides
};

// a may have either stride contiguous: the kernel broadcasts single elements of it.
template <class T>
Packed<T> pack_a(MatrixView a, Type wide, int64_t m, int64_t k) {
  if (a.type == wide) return {static_cast<const T*>(a.data), a.row_stride, a.col_stride};
  auto* out = static_cast<T*>(scratch.take(m * k * static_cast<int64_t>(sizeof(T))));
  if (a.col_stride != 1 && a.row_stride == 1) {
    widen_rows(out, m, turned(a), k, m);
    return {out, 1, m};
  }
  widen_rows(out, k, with_contiguous_rows(a, m, k), m, k);
  return {out, k, 1};
}

template <class T>
Packed<T> pack_b(MatrixView b, Type wide, int64_t k, int64_t n) {
  int64_t panel = table().panel;
  if (b.type == wide && b.col_stride == 1 && n % panel == 0)
    return {static_cast<const T*>(b.data), b.row_stride, 1};
  int64_t padded = (n + panel - 1) / panel * panel;
  auto* out = static_cast<T*>(scratch.take(k * padded * static_cast<int64_t>(sizeof(T))));
  widen_rows(out, padded, with_contiguous_rows(b, k, n), k, n);
  if (padded != n)
    for (int64_t r = 0; r < k; ++r) std::fill(out + r * padded + n, out + (r + 1) * padded, T{0});
  return {out, padded, 1};
}

template <class T, class Fn>
void dot(Fn kernel, Type wide, T* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k,
         SumStart<T> start = {}, const Ahead* ahead = nullptr) {
  for (int64_t done = 0; done < k; done += kBlockK, start = {}, ahead = nullptr) {
    int64_t part = std::min(kBlockK, k - done);
    MatrixView a_part = a, b_part = b;
    a_part.data = element(a, 0, done);
    b_part.data = element(b, done, 0);
    int64_t padded = n + table().panel, wide_size = static_cast<int64_t>(sizeof(T));
    scratch.reserve(Scratch::rounded(m * part * wide_size) + Scratch::rounded(part * padded * wide_size) +
                    Scratch::rounded(m * part * wide_size) + Scratch::rounded(part * n * wide_size));
    Packed<T> pa = pack_a<T>(a_part, wide, m, part);
    Packed<T> pb = pack_b<T>(b_part, wide, part, n);
    if constexpr (std::is_same_v<T, float>)
      kernel(c, ldc, pa.data, pa.row, pa.col, pb.data, pb.row, m, n, part, start, ahead);
    else
      kernel(c, ldc, pa.data, pa.row, pa.col, pb.data, pb.row, m, n, part);
  }
}

}  // namespace

void dot_f32(float* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k,
             DotStart start, const Ahead* ahead) {
  SumStart<float> from{nullptr, start.scale, start.scale_step};
  alignas(64) float line[kMostColumns];
  if (start.value) {
    std::fill(line, line + table().wide, *start.value);
    from.line = line;
  }
  dot(table().dot_f32, Type::kF32, c, ldc, a, b, m, n, k, from, ahead);
}

void dot_f16(uint16_t* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k) {
  scratch_c.reserve(m * n * 4);
  auto* wide = static_cast<float*>(scratch_c.take(m * n * 4));
  Kernel widen = elementwise_extf.kernel(Type::kF16, Type::kF32),
         narrow = elementwise_truncf.kernel(Type::kF32, Type::kF16);
  for (int64_t i = 0; i < m; ++i) {
    const void* row = c + i * ldc;
    widen.run(wide + i * n, &row, 0, n);
  }
  dot_f32(wide, n, a, b, m, n, k);
  for (int64_t i = 0; i < m; ++i) {
    const void* row = wide + i * n;
    narrow.run(c + i * ldc, &row, 0, n);
  }
}

void dot_f64(double* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k) {
  dot(table().dot_f64, Type::kF64, c, ldc, a, b, m, n, k);
}

void dot_i32(int32_t* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k) {
  dot(table().dot_i32, Type::kI32, c, ldc, a, b, m, n, k);
}

}  // namespace triton_runner::num
