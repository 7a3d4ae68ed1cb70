// Multiplies matrices in registers: a block of R rows x C vectors of c stays in registers while k runs, so
// that every element is one chain of multiply-adds in ascending k. dot.cpp of the folder above packs the
// operands.
#include "simd/common.h"
#include "simd/width.h"

namespace triton_runner::num::SIMD_ISA {

void widen_rows(Type type, float* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
                int64_t cols);
bool widen_turned(Type type, float* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
                  int64_t cols);

namespace {

// kRegisters of a block's sums. With AVX-512 no more than hide the latency and halve the loads: where more
// are stored at once, the stores keep the next block's multiply-adds from starting (Zen 5: 24 cost 8 % at k =
// 32).
// kSteps of k at a time: with AVX2 the loop's own operations cost 6 % otherwise (an Intel Xeon), with AVX-512 nothing.
#if defined(SIMD_ISA_avx512)
constexpr int kMaxVectors = 4, kRegisters = 16, kSteps = 1;
#elif defined(SIMD_ISA_avx2)
constexpr int kMaxVectors = 2, kRegisters = 12, kSteps = 4;
#else
constexpr int kMaxVectors = 2, kRegisters = 8, kSteps = 1;
#endif

template <class Scalar>
struct Lanes {
  using T = Scalar;
  static constexpr int kLanes = kVectorBytes / sizeof(T);
  typedef T V __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
  static inline V load(const T* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static inline void store(T* p, V v) { *reinterpret_cast<Unaligned*>(p) = v; }
};

inline Lanes<uint32_t>::V multiply_add(Lanes<uint32_t>::V x, Lanes<uint32_t>::V y, Lanes<uint32_t>::V z) {
  return x * y + z;
}
#if defined(SIMD_ISA_avx512)
inline Lanes<float>::V multiply_add(Lanes<float>::V x, Lanes<float>::V y, Lanes<float>::V z) {
  return _mm512_fmadd_ps(x, y, z);
}
inline Lanes<double>::V multiply_add(Lanes<double>::V x, Lanes<double>::V y, Lanes<double>::V z) {
  return _mm512_fmadd_pd(x, y, z);
}
#elif defined(SIMD_ISA_avx2)
inline Lanes<float>::V multiply_add(Lanes<float>::V x, Lanes<float>::V y, Lanes<float>::V z) {
  return _mm256_fmadd_ps(x, y, z);
}
inline Lanes<double>::V multiply_add(Lanes<double>::V x, Lanes<double>::V y, Lanes<double>::V z) {
  return _mm256_fmadd_pd(x, y, z);
}
#else
inline Lanes<float>::V multiply_add(Lanes<float>::V x, Lanes<float>::V y, Lanes<float>::V z) {
  for (int i = 0; i < 4; ++i) z[i] = __builtin_fmaf(x[i], y[i], z[i]);
  return z;
}
inline Lanes<double>::V multiply_add(Lanes<double>::V x, Lanes<double>::V y, Lanes<double>::V z) {
  for (int i = 0; i < 2; ++i) z[i] = __builtin_fma(x[i], y[i], z[i]);
  return z;
}
#endif

// The blocks of a panel share this. Passed by reference: one block takes some hundred cycles.
template <class T>
struct Panel {
  int64_t ldc;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  int64_t k;
  SumStart<T> start;
  class Fetch* fetch;  // two, or null
};

template <class T, int R, int C>
[[gnu::always_inline]] inline void block(T* __restrict c, const T* __restrict a, const Panel<T>& p) {
  using L = Lanes<T>;
  using V = typename L::V;
  const int64_t ldc = p.ldc, a_row = p.a_row, a_col = p.a_col, b_row = p.b_row;
  V sum[R][C];
  const T* from = p.start.line ? p.start.line : c;
  const int64_t from_row = p.start.line ? 0 : ldc;
  each<R, C>([&](int r, int v) { sum[r][v] = L::load(from + r * from_row + v * L::kLanes); });
  if (p.start.scale) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      V scale = p.start.scale[r * p.start.scale_step] - V{};
#pragma GCC unroll 4
      for (int v = 0; v < C; ++v) sum[r][v] *= scale;
    }
  }
  const T* b = p.b;
#pragma GCC unroll kSteps
  for (int64_t k = p.k; k > 0; --k, a += a_col, b += b_row) {
    V column[C];
#pragma GCC unroll 4
    for (int v = 0; v < C; ++v) column[v] = L::load(b + v * L::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      V row = a[r * a_row] - V{};  // broadcast; x - 0 is x, -0 too
#pragma GCC unroll 4
      for (int v = 0; v < C; ++v) sum[r][v] = multiply_add(row, column[v], sum[r][v]);
    }
  }
  each<R, C>([&](int r, int v) { L::store(c + r * ldc + v * L::kLanes, sum[r][v]); });
}

// Fetches lines of memory, a few after each block: there they cost next to nothing, and what they take when
// they come one after the other.
class Fetch {
 public:
  Fetch() = default;
  Fetch(const Ahead& a, int64_t blocks)
      : top_(a.address),
        at_(a.address),
        stride_(static_cast<uint64_t>(a.stride)),
        rows_(a.rows),
        left_(a.rows),
        columns_((a.bytes + kLine - 1) / kLine) {
    calls_ = rows_ > 0 ? (rows_ * columns_ + kAtOnce * blocks - 1) / (kAtOnce * blocks) : 0;
  }
  void some() {
    for (int64_t i = calls_; i > 0; --i) {
      if (left_ < kAtOnce) [[unlikely]] {
        if (!next_column()) return;
      }
#pragma GCC unroll 4
      for (int k = 0; k < kAtOnce; ++k)
        __builtin_prefetch(reinterpret_cast<const void*>(at_ + static_cast<uint64_t>(k) * stride_));
      at_ += kAtOnce * stride_;
      left_ -= kAtOnce;
    }
  }

 private:
  static constexpr int64_t kLine = 64, kAtOnce = 4;
  // The lines of all rows that come next; false: there are none, and none will come.
  bool next_column() {
    for (; left_ > 0; --left_, at_ += stride_) __builtin_prefetch(reinterpret_cast<const void*>(at_));
    if (--columns_ <= 0 || rows_ < kAtOnce) {
      calls_ = 0;
      return false;
    }
    at_ = top_ += kLine;
    left_ = rows_;
    return true;
  }
  uint64_t top_ = 0, at_ = 0, stride_ = 0;
  int64_t rows_ = 0, left_ = 0, columns_ = 0, calls_ = 0;
};

// `count` blocks of R rows, one below the other: they are in one loop, so that the next one's first loads do
// not wait for a call. Leaves c, a and the start at the row below.
template <class T, int R, int C>
void strip(T*& c, const T*& a, Panel<T>& p, int64_t count) {
  for (; count > 0; --count) {
    block<T, R, C>(c, a, p);
    if (p.fetch) p.fetch[0].some(), p.fetch[1].some();
    c += R * p.ldc;
    a += R * p.a_row;
    if (p.start.scale) p.start.scale += R * p.start.scale_step;
  }
}

// The strips of C vectors, by their blocks' rows: as many rows as the registers hold.
template <class T>
using Strip = void (*)(T*& c, const T*& a, Panel<T>& p, int64_t count);
template <int C>
constexpr int kRows = kRegisters / C > 14 ? 14 : kRegisters / C;
template <class T, int C>
struct Strips {
  Strip<T> of[kRows<C> + 1] = {};
  constexpr Strips() { add<1>(); }
  template <int R>
  constexpr void add() {
    of[R] = strip<T, R, C>;
    if constexpr (R < kRows<C>) add<R + 1>();
  }
};
template <class T, int C>
constexpr Strips<T, C> kStrips;

template <class T, int C>
void panel(T* c, const T* a, Panel<T>& p, int64_t m) {
  // Split evenly, so that no block is left with a row or two (their chains would not hide the latency).
  // In 32 bits, where a division takes half the time.
  const auto all = static_cast<uint32_t>(m), blocks = (all + kRows<C> - 1) / kRows<C>, rows = all / blocks,
             taller = all % blocks;
  if (taller) kStrips<T, C>.of[rows + 1](c, a, p, taller);
  kStrips<T, C>.of[rows](c, a, p, blocks - taller);
}

template <class T, int C>
void pick_panel(int vectors, T* c, const T* a, Panel<T>& p, int64_t m) {
  if constexpr (C > 0) {
    if (vectors == C)
      panel<T, C>(c, a, p, m);
    else
      pick_panel<T, C - 1>(vectors, c, a, p, m);
  }
}

constexpr int kEdgeRows = 64;

template <class T>
void dot_from(T* c, int64_t ldc, const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row,
              int64_t m, int64_t n, int64_t k, const SumStart<T>& start, const Ahead* ahead) {
  constexpr int kLanes = Lanes<T>::kLanes, kWide = kMaxVectors * kLanes, kTall = kRows<kMaxVectors>;
  Fetch fetch[2];
  if (ahead) {
    const int64_t blocks = (m + kTall - 1) / kTall * ((n + kWide - 1) / kWide);
    fetch[0] = Fetch(ahead[0], blocks), fetch[1] = Fetch(ahead[1], blocks);
  }
  for (int64_t j = 0; j < n;) {
    int64_t left = n - j;
    int vectors = left >= kMaxVectors * kLanes ? kMaxVectors : static_cast<int>((left + kLanes - 1) / kLanes);
    int64_t width = vectors * kLanes < left ? vectors * kLanes : left;
    Panel<T> p{ldc, a_row, a_col, b + j, b_row, k, start, ahead ? fetch : nullptr};
    if (width == vectors * kLanes) {
      pick_panel<T, kMaxVectors>(vectors, c + j, a, p, m);
    } else {  // c's last columns are no whole vector: through a copy
      alignas(64) T edge[kEdgeRows * kMaxVectors * kLanes];
      int64_t stride = vectors * kLanes;
      p.ldc = stride;
      for (int64_t i = 0; i < m; i += kEdgeRows) {
        int64_t rows = m - i < kEdgeRows ? m - i : kEdgeRows;
        for (int64_t r = 0; r < rows && !start.line; ++r) {
          for (int64_t x = 0; x < width; ++x) edge[r * stride + x] = c[(i + r) * ldc + j + x];
          for (int64_t x = width; x < stride; ++x) edge[r * stride + x] = 0;
        }
        pick_panel<T, kMaxVectors>(vectors, edge, a + i * a_row, p, rows);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t x = 0; x < width; ++x) c[(i + r) * ldc + j + x] = edge[r * stride + x];
      }
    }
    j += width;
  }
}

template <class T>
void dot(T* c, int64_t ldc, const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row, int64_t m,
         int64_t n, int64_t k) {
  dot_from<T>(c, ldc, a, a_row, a_col, b, b_row, m, n, k, {}, nullptr);
}

void dot_i32(int32_t* c, int64_t ldc, const int32_t* a, int64_t a_row, int64_t a_col, const int32_t* b,
             int64_t b_row, int64_t m, int64_t n, int64_t k) {
  dot<uint32_t>(reinterpret_cast<uint32_t*>(c), ldc, reinterpret_cast<const uint32_t*>(a), a_row, a_col,
                reinterpret_cast<const uint32_t*>(b), b_row, m, n, k);
}

}  // namespace

extern const DotTable dot_table;
const DotTable dot_table = {
    kVectorBytes / 4, kMaxVectors * kVectorBytes / 4, widen_rows, widen_turned, dot_from<float>, dot<double>,
    dot_i32};

}  // namespace triton_runner::num::SIMD_ISA
