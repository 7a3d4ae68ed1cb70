// Moves elements: copies, fills, broadcasts, transposes, gathers; and answers two questions about masks (a
// byte an element, 0 or 1).
//
// `size` is the element's bytes: 1, 2, 4 or 8. Strides are in elements unless a name says bytes. Buffers need
// no alignment and do not overlap. Addresses were checked by the caller.
#pragma once
#include <cstddef>
#include <cstdint>

namespace triton_runner::num {

// rows of row_bytes each, at any distance on both sides.
void copy_rows(void* out, int64_t out_stride_bytes, const void* in, int64_t in_stride_bytes, int64_t rows,
               int64_t row_bytes);
// memcpy for what is not read again soon: whole lines go to memory without coming into the caches first,
// which is most of what writing them costs. finish_past_caches() before other threads may look.
void copy_past_caches(void* out, const void* in, int64_t bytes);
void finish_past_caches();
// out[i * out_stride] = in[i * in_stride]
void copy_strided(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n, size_t size);
void fill(void* out, uint64_t bits, int64_t n, size_t size);
// in [outer, inner] -> out [outer, times, inner]: broadcast along an axis. inner == 1: down the last axis.
void repeat(void* out, const void* in, int64_t outer, int64_t times, int64_t inner, size_t size);
// out[c, r] = in[r, c]; row strides are the distance of consecutive rows.
void transpose(void* out, int64_t out_row_stride, const void* in, int64_t in_row_stride, int64_t rows,
               int64_t cols, size_t size);
// out (contiguous, shape[0..rank)) = in read with `strides`; rank <= 8. Strides of 0 broadcast, any order
// permutes.
void copy_view(void* out, const void* in, const int64_t* shape, const int64_t* strides, int rank,
               size_t size);

// Lanes that are off (mask null: none) leave `out` or memory as it was.
void gather(void* out, const uint64_t* addresses, const uint8_t* mask, int64_t n, size_t size);
void scatter(const uint64_t* addresses, const void* in, const uint8_t* mask, int64_t n,
             size_t size);  // ascending: the last lane wins
// addresses[i + 1] == addresses[i] + size throughout.
bool contiguous(const uint64_t* addresses, int64_t n, size_t size);
// Smallest and largest address of the lanes that are on; false if none is.
bool address_range(const uint64_t* addresses, const uint8_t* mask, int64_t n, uint64_t* low, uint64_t* high);
// addresses[i] = base + offset[i] * size; offsets i32 (sign-extended) or i64.
void addresses_i32(uint64_t* out, uint64_t base, const int32_t* offsets, int64_t n, int64_t size);
void addresses_i64(uint64_t* out, uint64_t base, const int64_t* offsets, int64_t n, int64_t size);
// out[i] = pointers[i] + offset[i] * size: tt.addptr on tiles; offsets sign-extended from i32 or i64.
void addptr_i32(uint64_t* out, const uint64_t* pointers, const int32_t* offsets, int64_t n, int64_t size);
void addptr_i64(uint64_t* out, const uint64_t* pointers, const int64_t* offsets, int64_t n, int64_t size);

bool mask_all(const uint8_t* mask, int64_t n);
// The mask of a box: out[i0, i1, ...] = low[d] <= i_d < high[d] for all d; shape of rank <= 8, contiguous.
void mask_box(uint8_t* out, const int64_t* shape, const int64_t* low, const int64_t* high, int rank);

}  // namespace triton_runner::num
