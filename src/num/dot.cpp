// Packs the operands of dots: those of any type and strides become f32 (f64, i32) with b's rows contiguous; k
// goes in blocks that keep the packed operands in cache, and c carries the chains from block to block. The
// products are in simd/dot.cpp.
#include <triton_runner/num/dot.h>

#include <algorithm>
#include <type_traits>

#include <triton_runner/num/elementwise.h>
#include <triton_runner/num/kernels.h>
#include <triton_runner/num/of_isa.h>

#include "scratch.h"
#include "simd/tables.h"

namespace triton_runner::num {
namespace {

constexpr int64_t kBlockK = 256;
constexpr int64_t kMostColumns = 64;  // that any instruction set multiplies at a time

thread_local Scratch scratch, scratch_c;

const DotTable& dot_functions() { return NUM_OF_ISA(current_isa(), dot_table); }

const void* element(MatrixView v, int64_t i, int64_t j) {
  return static_cast<const char*>(v.data) +
         (i * v.row_stride + j * v.col_stride) * static_cast<int64_t>(size_of(v.type));
}
MatrixView turned(MatrixView v) { return {v.data, v.type, v.col_stride, v.row_stride}; }

template <class T>
struct Packed {
  const T* data;
  int64_t row, col;  // strides
};

// Operands of one product after the other. The thread's scratch memory and the table are looked up once: a
// product may take less than a microsecond.
template <class T>
class Packing {
 public:
  Packing(const DotTable& table, Type wide) : table_(table), wide_(wide), scratch_(scratch) {}

  void begin(int64_t m, int64_t n, int64_t k) {
    const int64_t padded = n + table_.panel, size = sizeof(T);
    scratch_.reserve(2 * Scratch::rounded(m * k * size) + Scratch::rounded(k * padded * size) +
                     Scratch::rounded(k * n * size));
  }

  // a may have either stride contiguous: the kernel broadcasts single elements of it.
  Packed<T> a(MatrixView a, int64_t m, int64_t k) {
    if (a.type == wide_) return {static_cast<const T*>(a.data), a.row_stride, a.col_stride};
    T* out = take(m * k);
    if (a.col_stride != 1 && a.row_stride == 1) {
      widen_rows(out, m, turned(a), k, m);
      return {out, 1, m};
    }
    widen_rows(out, k, with_contiguous_rows(a, m, k), m, k);
    return {out, k, 1};
  }

  Packed<T> b(MatrixView b, int64_t k, int64_t n) {
    const int64_t panel = table_.panel;
    if (b.type == wide_ && b.col_stride == 1 && n % panel == 0)
      return {static_cast<const T*>(b.data), b.row_stride, 1};
    const int64_t padded = (n + panel - 1) / panel * panel;
    T* out = take(k * padded);
    widen(out, padded, b, k, n);
    if (padded != n)
      for (int64_t r = 0; r < k; ++r) std::fill(out + r * padded + n, out + (r + 1) * padded, T{0});
    return {out, padded, 1};
  }

  // Any matrix, as rows that are contiguous.
  void widen(T* out, int64_t stride, MatrixView v, int64_t rows, int64_t cols) {
    if constexpr (std::is_same_v<T, float>)
      if (v.col_stride != 1 && v.row_stride == 1 &&
          table_.widen_turned(v.type, out, stride, v.data, v.col_stride, rows, cols))
        return;
    widen_rows(out, stride, with_contiguous_rows(v, rows, cols), rows, cols);
  }

 private:
  T* take(int64_t elements) {
    return static_cast<T*>(scratch_.take(elements * static_cast<int64_t>(sizeof(T))));
  }

  // The same matrix with contiguous rows: as it is, or copied through a transpose.
  MatrixView with_contiguous_rows(MatrixView v, int64_t rows, int64_t cols) {
    if (v.col_stride == 1) return v;
    size_t size = size_of(v.type);
    void* copy = scratch_.take(rows * cols * static_cast<int64_t>(size));
    int64_t shape[] = {rows, cols}, strides[] = {v.row_stride, v.col_stride};
    copy_view(copy, v.data, shape, strides, 2, size);
    return {copy, v.type, cols, 1};
  }

  // Widening of contiguous rows to the accumulator's type.
  void widen_rows(T* out, int64_t stride, MatrixView v, int64_t rows, int64_t cols) {
    if constexpr (std::is_same_v<T, float>) {
      if (v.row_stride == cols && stride == cols) {  // one long row
        cols *= rows;
        rows = 1;
      }
      table_.widen_rows(v.type, out, stride, v.data, v.row_stride, rows, cols);
    } else {
      Kernel kernel = std::is_same_v<T, double> ? elementwise_extf.kernel(v.type, Type::kF64)
                                                : elementwise_extsi.kernel(v.type, Type::kI32);
      for (int64_t r = 0; r < rows; ++r) {
        const void* in = element(v, r, 0);
        kernel.run(out + r * stride, &in, 0, cols);
      }
    }
  }

  const DotTable& table_;
  const Type wide_;
  Scratch& scratch_;
};

template <class T, class Fn>
void dot(const DotTable& table, Fn kernel, Type wide, T* c, int64_t ldc, MatrixView a, MatrixView b,
         int64_t m, int64_t n, int64_t k, SumStart<T> start = {}, const Ahead* ahead = nullptr) {
  Packing<T> pack(table, wide);
  for (int64_t done = 0; done < k; done += kBlockK, start = {}, ahead = nullptr) {
    int64_t part = std::min(kBlockK, k - done);
    MatrixView a_part = a, b_part = b;
    if (done) a_part.data = element(a, 0, done), b_part.data = element(b, done, 0);
    pack.begin(m, n, part);
    Packed<T> pa = pack.a(a_part, m, part);
    Packed<T> pb = pack.b(b_part, part, n);
    if constexpr (std::is_same_v<T, float>)
      kernel(c, ldc, pa.data, pa.row, pa.col, pb.data, pb.row, m, n, part, start, ahead);
    else
      kernel(c, ldc, pa.data, pa.row, pa.col, pb.data, pb.row, m, n, part);
  }
}

}  // namespace

void dot_f32(float* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k,
             DotStart start, const Ahead* ahead) {
  const DotTable& t = dot_functions();
  SumStart<float> from{nullptr, start.scale, start.scale_step};
  alignas(64) float line[kMostColumns];
  if (start.value) {
    std::fill(line, line + t.wide, *start.value);
    from.line = line;
  }
  dot(t, t.dot_f32, Type::kF32, c, ldc, a, b, m, n, k, from, ahead);
}

void widen_matrix(float* out, MatrixView v, int64_t rows, int64_t cols) {
  Packing<float> pack(dot_functions(), Type::kF32);
  pack.begin(rows, 0, cols);
  pack.widen(out, cols, v, rows, cols);
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
  dot(dot_functions(), dot_functions().dot_f64, Type::kF64, c, ldc, a, b, m, n, k);
}

void dot_i32(int32_t* c, int64_t ldc, MatrixView a, MatrixView b, int64_t m, int64_t n, int64_t k) {
  dot(dot_functions(), dot_functions().dot_i32, Type::kI32, c, ldc, a, b, m, n, k);
}

}  // namespace triton_runner::num
