// Moves elements and looks at masks: kernels.h says what each function does.
#include <triton_runner/num/by_size.h>

#include "simd/transpose.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

// Element accesses that may be unaligned and of any type's bits.
template <class T>
struct Raw {
  typedef T type __attribute__((aligned(1), may_alias));
};
template <class T>
using raw = typename Raw<T>::type;

template <class T>
void copy_strided_of(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n) {
  auto* o = static_cast<raw<T>*>(out);
  auto* x = static_cast<const raw<T>*>(in);
  if (out_stride == 1 && in_stride == 1) {
    __builtin_memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
  } else if (in_stride == 0 && out_stride == 1) {
    T value = x[0];
    for (int64_t i = 0; i < n; ++i) o[i] = value;
  } else if (out_stride == 1) {
    for (int64_t i = 0; i < n; ++i) o[i] = x[i * in_stride];
  } else {
    for (int64_t i = 0; i < n; ++i) o[i * out_stride] = x[i * in_stride];
  }
}

template <class T>
void fill_of(void* out, uint64_t bits, int64_t n) {
  auto* o = static_cast<raw<T>*>(out);
  T value = static_cast<T>(bits);
  for (int64_t i = 0; i < n; ++i) o[i] = value;
}

// Each element `times` times, one after the other.
template <class T>
void spread_of(void* out, const void* in, int64_t n, int64_t times) {
  auto* o = static_cast<raw<T>*>(out);
  auto* x = static_cast<const raw<T>*>(in);
  for (int64_t i = 0; i < n; ++i, o += times) {
    const T value = x[i];
    for (int64_t k = 0; k < times; ++k) o[k] = value;
  }
}

// Rows of a size that is known while compiling are moves, not calls.
template <size_t kBytes>
void copy_rows_of(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) __builtin_memcpy(out + r * out_stride, in + r * in_stride, kBytes);
}

void copy_rows(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
               int64_t row_bytes) {
  auto* o = static_cast<char*>(out);
  auto* x = static_cast<const char*>(in);
  switch (row_bytes) {
    case 16:
      return copy_rows_of<16>(o, out_stride, x, in_stride, rows);
    case 32:
      return copy_rows_of<32>(o, out_stride, x, in_stride, rows);
    case 64:
      return copy_rows_of<64>(o, out_stride, x, in_stride, rows);
    case 128:
      return copy_rows_of<128>(o, out_stride, x, in_stride, rows);
    case 256:
      return copy_rows_of<256>(o, out_stride, x, in_stride, rows);
    default:
      for (int64_t r = 0; r < rows; ++r)
        __builtin_memcpy(o + r * out_stride, x + r * in_stride, static_cast<size_t>(row_bytes));
  }
}

// Blocks that fit in a few cache lines on both sides; the inner loop writes consecutively.
template <class T>
void transpose_of(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
                  int64_t cols) {
  auto* o = static_cast<raw<T>*>(out);
  auto* x = static_cast<const raw<T>*>(in);
  constexpr int64_t kBlock = 16;
  for (int64_t r = 0; r < rows; r += kBlock) {
    int64_t r_end = r + kBlock < rows ? r + kBlock : rows;
    for (int64_t c = 0; c < cols; c += kBlock) {
      int64_t c_end = c + kBlock < cols ? c + kBlock : cols;
      for (int64_t j = c; j < c_end; ++j)
        for (int64_t i = r; i < r_end; ++i) o[j * out_stride + i] = x[i * in_stride + j];
    }
  }
}

#if defined(__x86_64__)
// 8 x 8 elements of two bytes in registers.
inline void transpose_8x8(uint16_t* out, int64_t out_stride, const uint16_t* in, int64_t in_stride) {
  each_column_of_8x8(in, in_stride, [&](int i, __m128i column) { store128(out + i * out_stride, column); });
}

// 4 x 4 elements of four bytes in registers.
inline void transpose_4x4(uint32_t* out, int64_t out_stride, const uint32_t* in, int64_t in_stride) {
  __m128i a = load128(in), b = load128(in + in_stride), c = load128(in + 2 * in_stride),
          d = load128(in + 3 * in_stride);
  __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
  __m128i ab2 = _mm_unpackhi_epi32(a, b), cd2 = _mm_unpackhi_epi32(c, d);
  store128(out, _mm_unpacklo_epi64(ab, cd));
  store128(out + out_stride, _mm_unpackhi_epi64(ab, cd));
  store128(out + 2 * out_stride, _mm_unpacklo_epi64(ab2, cd2));
  store128(out + 3 * out_stride, _mm_unpackhi_epi64(ab2, cd2));
}

template <class T, int kSide, void (*kBlock)(T*, int64_t, const T*, int64_t)>
void transpose_blocks(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
                      int64_t cols) {
  auto* o = static_cast<T*>(out);
  auto* x = static_cast<const T*>(in);
  int64_t whole_rows = rows / kSide * kSide, whole_cols = cols / kSide * kSide;
  for (int64_t c = 0; c < whole_cols; c += kSide)
    for (int64_t r = 0; r < whole_rows; r += kSide)
      kBlock(o + c * out_stride + r, out_stride, x + r * in_stride + c, in_stride);
  if (whole_cols < cols)
    transpose_of<T>(o + whole_cols * out_stride, out_stride, x + whole_cols, in_stride, rows,
                    cols - whole_cols);
  if (whole_rows < rows)
    transpose_of<T>(o + whole_rows, out_stride, x + whole_rows * in_stride, in_stride, rows - whole_rows,
                    whole_cols);
}
#endif

template <class T>
void gather_of(void* out, const uint64_t* addresses, const uint8_t* mask, int64_t n) {
  auto* o = static_cast<raw<T>*>(out);
  if (mask == nullptr) {
    for (int64_t i = 0; i < n; ++i) o[i] = *reinterpret_cast<const raw<T>*>(addresses[i]);
  } else {
    for (int64_t i = 0; i < n; ++i)
      if (mask[i]) o[i] = *reinterpret_cast<const raw<T>*>(addresses[i]);
  }
}

template <class T>
void scatter_of(const uint64_t* addresses, const void* in, const uint8_t* mask, int64_t n) {
  auto* x = static_cast<const raw<T>*>(in);
  if (mask == nullptr) {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<raw<T>*>(addresses[i]) = x[i];
  } else {
    for (int64_t i = 0; i < n; ++i)
      if (mask[i]) *reinterpret_cast<raw<T>*>(addresses[i]) = x[i];
  }
}

// One call by the element's size.
#define BY_SIZE(size, function, ...) \
  by_size(size, [&](auto zero) __attribute__((always_inline)) { function<decltype(zero)>(__VA_ARGS__); });

void copy_strided(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n, size_t size) {
  BY_SIZE(size, copy_strided_of, out, out_stride, in, in_stride, n)
}
void spread(void* out, const void* in, int64_t n, int64_t times, size_t size) {
  BY_SIZE(size, spread_of, out, in, n, times)
}
void fill(void* out, uint64_t bits, int64_t n, size_t size) { BY_SIZE(size, fill_of, out, bits, n) }

void transpose(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows, int64_t cols,
               size_t size) {
#if defined(__x86_64__)
  if (size == 2)
    return transpose_blocks<uint16_t, 8, transpose_8x8>(out, out_stride, in, in_stride, rows, cols);
  if (size == 4)
    return transpose_blocks<uint32_t, 4, transpose_4x4>(out, out_stride, in, in_stride, rows, cols);
#endif
  BY_SIZE(size, transpose_of, out, out_stride, in, in_stride, rows, cols)
}

void gather(void* out, const uint64_t* addresses, const uint8_t* mask, int64_t n, size_t size) {
  BY_SIZE(size, gather_of, out, addresses, mask, n)
}
void scatter(const uint64_t* addresses, const void* in, const uint8_t* mask, int64_t n, size_t size) {
  BY_SIZE(size, scatter_of, addresses, in, mask, n)
}

bool contiguous(const uint64_t* addresses, int64_t n, size_t size) {
  constexpr int64_t kBlock = 64;  // looked at between early exits
  for (int64_t i = 1; i < n; i += kBlock) {
    int64_t end = i + kBlock < n ? i + kBlock : n;
    uint64_t wrong = 0;
    for (int64_t j = i; j < end; ++j) wrong |= (addresses[j] - addresses[j - 1]) ^ size;
    if (wrong) return false;
  }
  return true;
}

bool address_range(const uint64_t* addresses, const uint8_t* mask, int64_t n, uint64_t* low, uint64_t* high) {
  uint64_t smallest = ~uint64_t{0}, largest = 0;
  bool any = n > 0;
  if (mask == nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      smallest = addresses[i] < smallest ? addresses[i] : smallest;
      largest = addresses[i] > largest ? addresses[i] : largest;
    }
  } else {
    uint8_t on = 0;
    for (int64_t i = 0; i < n; ++i) {
      uint64_t keep = 0 - static_cast<uint64_t>(mask[i]);  // all ones where on
      uint64_t as_low = addresses[i] | ~keep, as_high = addresses[i] & keep;
      smallest = as_low < smallest ? as_low : smallest;
      largest = as_high > largest ? as_high : largest;
      on |= mask[i];
    }
    any = on != 0;
  }
  *low = smallest;
  *high = largest;
  return any;
}

template <class Offset>
void addptr(uint64_t* out, const uint64_t* pointers, uint64_t base, const Offset* offsets, int64_t n,
            int64_t size) {
  auto scale = static_cast<uint64_t>(size);
  if (pointers == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      out[i] = base + static_cast<uint64_t>(static_cast<int64_t>(offsets[i])) * scale;
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      out[i] = pointers[i] + static_cast<uint64_t>(static_cast<int64_t>(offsets[i])) * scale;
  }
}

bool mask_all(const uint8_t* mask, int64_t n) {
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    uint8_t off = 0;
    for (int64_t j = 0; j < 64; ++j) off |= mask[i + j] == 0;
    if (off) return false;
  }
  for (; i < n; ++i)
    if (mask[i] == 0) return false;
  return true;
}

// Whole lines of 64 bytes go to memory without being read first; what is before and after them does not.
void copy_past_caches(void* out, const void* in, int64_t bytes) {
  auto* o = static_cast<char*>(out);
  auto* x = static_cast<const char*>(in);
#if defined(__x86_64__)
  auto head = static_cast<int64_t>(-reinterpret_cast<uint64_t>(o) & 63);
  if (head > bytes) head = bytes;
  __builtin_memcpy(o, x, static_cast<size_t>(head));
  o += head, x += head, bytes -= head;
  for (; bytes >= 64; o += 64, x += 64, bytes -= 64) {
#if defined(SIMD_ISA_avx512)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(o), _mm512_loadu_si512(x));
#else
    for (int i = 0; i < 64; i += 16) _mm_stream_si128(reinterpret_cast<__m128i*>(o + i), load128(x + i));
#endif
  }
#endif
  __builtin_memcpy(o, x, static_cast<size_t>(bytes));
}

}  // namespace

const MoveTable move_table = {copy_strided,     fill,          transpose,       gather,          scatter,
                              contiguous,       address_range, addptr<int32_t>, addptr<int64_t>, mask_all,
                              copy_past_caches, spread,        copy_rows};

}  // namespace triton_runner::num::SIMD_ISA
