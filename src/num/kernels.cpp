// Implements kernels.h: the movements that are a few memcpy calls; all others call the instruction set's copy
// (simd/move.cpp).
#include <triton_runner/num/kernels.h>
#include <triton_runner/num/of_isa.h>

#include <cstring>

#include <triton_runner/num/types.h>

#include "simd/tables.h"

namespace triton_runner::num {
namespace {

const MoveTable& move_functions() { return NUM_OF_ISA(current_isa(), move_table); }
char* at(void* p, int64_t bytes) { return static_cast<char*>(p) + bytes; }
const char* at(const void* p, int64_t bytes) { return static_cast<const char*>(p) + bytes; }

struct View {
  const int64_t* shape;
  const int64_t* strides;
  int rank;
  int64_t inner;  // elements below the first axis of this view, in `out`
};

// The two innermost axes of a view at once where one of them is contiguous in `in`.
void copy_plane(void* out, const void* in, const View& v, int64_t size) {
  int64_t rows = v.shape[0], cols = v.shape[1], row_stride = v.strides[0], col_stride = v.strides[1];
  if (row_stride == 1 && col_stride >= rows) {
    move_functions().transpose(out, cols, in, col_stride, cols, rows, static_cast<size_t>(size));
    return;
  }
  for (int64_t r = 0; r < rows; ++r)
    move_functions().copy_strided(at(out, r * cols * size), 1, at(in, r * row_stride * size), col_stride,
                                  cols, static_cast<size_t>(size));
}

void copy_axes(void* out, const void* in, View v, int64_t size) {
  if (v.rank == 0) {
    std::memcpy(out, in, static_cast<size_t>(size));
  } else if (v.rank == 1) {
    move_functions().copy_strided(out, 1, in, v.strides[0], v.shape[0], static_cast<size_t>(size));
  } else if (v.rank == 2) {
    copy_plane(out, in, v, size);
  } else {
    View below{v.shape + 1, v.strides + 1, v.rank - 1, v.inner / v.shape[1]};
    for (int64_t i = 0; i < v.shape[0]; ++i)
      copy_axes(at(out, i * v.inner * size), at(in, i * v.strides[0] * size), below, size);
  }
}

void box_axes(uint8_t* out, const int64_t* shape, const int64_t* low, const int64_t* high, int rank,
              int64_t inner) {
  if (rank == 0) {
    *out = 1;
    return;
  }
  auto clamp = [&](int64_t x) { return x < 0 ? 0 : x > shape[0] ? shape[0] : x; };
  int64_t begin = clamp(low[0]), end = clamp(high[0]);
  if (end < begin) end = begin;
  std::memset(out, 0, static_cast<size_t>(begin * inner));
  std::memset(out + end * inner, 0, static_cast<size_t>((shape[0] - end) * inner));
  if (rank == 1) {
    std::memset(out + begin, 1, static_cast<size_t>(end - begin));
  } else if (begin < end) {  // every row of the box is the same
    uint8_t* first = out + begin * inner;
    box_axes(first, shape + 1, low + 1, high + 1, rank - 1, inner / shape[1]);
    for (int64_t i = begin + 1; i < end; ++i) std::memcpy(out + i * inner, first, static_cast<size_t>(inner));
  }
}

int64_t product(const int64_t* shape, int rank) {
  int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= shape[d];
  return n;
}

}  // namespace

void copy_rows(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
               int64_t row_bytes) {
  if (out_stride == row_bytes && in_stride == row_bytes) {
    std::memcpy(out, in, static_cast<size_t>(rows * row_bytes));
    return;
  }
  move_functions().copy_rows(out, out_stride, in, in_stride, rows, row_bytes);
}

void copy_strided(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n, size_t size) {
  move_functions().copy_strided(out, out_stride, in, in_stride, n, size);
}
void copy_past_caches(void* out, const void* in, int64_t bytes) {
  move_functions().copy_past_caches(out, in, bytes);
}
void finish_past_caches() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}
void fill(void* out, uint64_t bits, int64_t n, size_t size) { move_functions().fill(out, bits, n, size); }

void repeat(void* out, const void* in, int64_t outer, int64_t times, int64_t inner, size_t size) {
  if (inner == 1) return move_functions().spread(out, in, outer, times, size);
  auto row = static_cast<int64_t>(size) * inner;
  for (int64_t r = 0; r < outer; ++r)
    for (int64_t t = 0; t < times; ++t)
      std::memcpy(at(out, (r * times + t) * row), at(in, r * row), static_cast<size_t>(row));
}

void transpose(void* out, int64_t out_row_stride, const void* in, int64_t in_row_stride, int64_t rows,
               int64_t cols, size_t size) {
  move_functions().transpose(out, out_row_stride, in, in_row_stride, rows, cols, size);
}

void copy_view(void* out, const void* in, const int64_t* shape, const int64_t* strides, int rank,
               size_t size) {
  int64_t n = product(shape, rank);
  if (n == 0) return;
  copy_axes(out, in, View{shape, strides, rank, rank == 0 ? 1 : n / shape[0]}, static_cast<int64_t>(size));
}

void gather(void* out, const uint64_t* addresses, const uint8_t* mask, int64_t n, size_t size) {
  move_functions().gather(out, addresses, mask, n, size);
}
void scatter(const uint64_t* addresses, const void* in, const uint8_t* mask, int64_t n, size_t size) {
  move_functions().scatter(addresses, in, mask, n, size);
}
bool contiguous(const uint64_t* addresses, int64_t n, size_t size) {
  return move_functions().contiguous(addresses, n, size);
}
bool address_range(const uint64_t* addresses, const uint8_t* mask, int64_t n, uint64_t* low, uint64_t* high) {
  return move_functions().address_range(addresses, mask, n, low, high);
}
void addresses_i32(uint64_t* out, uint64_t base, const int32_t* offsets, int64_t n, int64_t size) {
  move_functions().addptr_i32(out, nullptr, base, offsets, n, size);
}
void addresses_i64(uint64_t* out, uint64_t base, const int64_t* offsets, int64_t n, int64_t size) {
  move_functions().addptr_i64(out, nullptr, base, offsets, n, size);
}
void addptr_i32(uint64_t* out, const uint64_t* pointers, const int32_t* offsets, int64_t n, int64_t size) {
  move_functions().addptr_i32(out, pointers, 0, offsets, n, size);
}
void addptr_i64(uint64_t* out, const uint64_t* pointers, const int64_t* offsets, int64_t n, int64_t size) {
  move_functions().addptr_i64(out, pointers, 0, offsets, n, size);
}

bool mask_all(const uint8_t* mask, int64_t n) { return move_functions().mask_all(mask, n); }

void mask_box(uint8_t* out, const int64_t* shape, const int64_t* low, const int64_t* high, int rank) {
  int64_t n = product(shape, rank);
  if (n != 0) box_axes(out, shape, low, high, rank, rank == 0 ? 1 : n / shape[0]);
}

}  // namespace triton_runner::num
