// Computes argmax and argmin: (value, index) pairs are folded left to right along the axis, as reduce.h says.
// With a NaN the order shows in the result: the pairs are then folded in halves, as a GPU does.
#include "simd/common.h"

#include <vector>

#include <triton_runner/num/reduce_ops.h>

namespace triton_runner::num::SIMD_ISA {
namespace {

template <bool kMax, class T>
inline bool better(T left, T right) {
  return kMax ? left > right : left < right;
}

// The pairs of one column in halves: i with i + n / 2, an odd last one as it is.
template <bool kMax, class T>
void fold_halves(T* out_value, int32_t* out_index, std::vector<T>& x, std::vector<int32_t>& index,
                 bool tie_break_left) {
  for (size_t n = x.size(), half = n / 2; n > 1; n -= half, half = n / 2) {
    for (size_t i = 0; i < half; ++i) {
      size_t right = i + half;
      bool keep =
          better<kMax>(x[i], x[right]) || (tie_break_left && x[i] == x[right] && index[i] < index[right]);
      if (keep) continue;
      x[i] = x[right];
      index[i] = index[right];
    }
    if (n % 2 == 0) continue;
    x[half] = x[n - 1];
    index[half] = index[n - 1];
  }
  *out_value = x[0];
  *out_index = index[0];
}

template <bool kMax, class T>
void fold_halves(T* out_value, int32_t* out_index, const T* x, const int32_t* index, int64_t n,
                 int64_t stride, bool tie_break_left) {
  std::vector<T> values(n);
  std::vector<int32_t> at(n);
  for (int64_t i = 0; i < n; ++i) {
    values[i] = x[i * stride];
    at[i] = index[i * stride];
  }
  fold_halves<kMax>(out_value, out_index, values, at, tie_break_left);
}

// One row by the definition.
template <class T, bool kMax>
inline void fold_row(T* out_value, int32_t* out_index, const T* x, const int32_t* index, int64_t n,
                     bool tie_break_left) {
  T value = x[0];
  int32_t at = index[0];
  bool unordered = value != value;
  for (int64_t i = 1; i < n; ++i) {
    bool keep = better<kMax>(value, x[i]) || (tie_break_left && value == x[i] && at < index[i]);
    value = keep ? value : x[i];
    at = keep ? at : index[i];
    unordered |= x[i] != x[i];
  }
  *out_value = value;
  *out_index = at;
  if (unordered) fold_halves<kMax>(out_value, out_index, x, index, n, 1, tie_break_left);
}

// A row without NaNs whose best value is not zero: the best value first, then the index that the ties leave.
template <class T, bool kMax>
inline bool fold_row_fast(T* out_value, int32_t* out_index, const T* x, const int32_t* index, int64_t n,
                          bool tie_break_left) {
  constexpr int kLanes = 64;
  if (n < 2 * kLanes) return false;
  T lanes[kLanes];
  uint8_t unordered = 0;
  for (int j = 0; j < kLanes; ++j) lanes[j] = x[j];
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int j = 0; j < kLanes; ++j) {
      unordered |= x[i + j] != x[i + j];
      lanes[j] = better<kMax>(x[i + j], lanes[j]) ? x[i + j] : lanes[j];
    }
  T best = lanes[0];
  for (int j = 1; j < kLanes; ++j) best = better<kMax>(lanes[j], best) ? lanes[j] : best;
  for (; i < n; ++i) {
    unordered |= x[i] != x[i];
    best = better<kMax>(x[i], best) ? x[i] : best;
  }
  if (unordered || best == T{0}) return false;
  *out_value = best;
  if (tie_break_left) {
    int32_t smallest = 0x7fffffff;
    for (int64_t j = 0; j < n; ++j) {
      int32_t candidate = x[j] == best ? index[j] : 0x7fffffff;
      smallest = candidate < smallest ? candidate : smallest;
    }
    *out_index = smallest;
  } else {
    int64_t j = n - 1;
    while (x[j] != best) --j;
    *out_index = index[j];
  }
  return true;
}

template <class T, bool kMax>
void arg_reduce(void* out_values, int32_t* out_indices, const void* values, const int32_t* indices,
                int64_t outer, int64_t axis, int64_t inner, bool tie_break_left) {
  auto* o = static_cast<T*>(out_values);
  auto* x = static_cast<const T*>(values);
  for (int64_t r = 0; r < outer; ++r, o += inner, out_indices += inner) {
    if (inner == 1) {
      if (!fold_row_fast<T, kMax>(o, out_indices, x, indices, axis, tie_break_left))
        fold_row<T, kMax>(o, out_indices, x, indices, axis, tie_break_left);
      x += axis;
      indices += axis;
      continue;
    }
    for (int64_t j = 0; j < inner; ++j) {
      o[j] = x[j];
      out_indices[j] = indices[j];
    }
    uint8_t unordered = 0;
    for (int64_t j = 0; j < inner; ++j) unordered |= x[j] != x[j];
    const T* slab = x;
    const int32_t* slab_indices = indices;
    x += inner;
    indices += inner;
    for (int64_t a = 1; a < axis; ++a, x += inner, indices += inner)
#pragma GCC ivdep
      for (int64_t j = 0; j < inner; ++j) {
        T value = o[j], next = x[j];
        int32_t at = out_indices[j], next_at = indices[j];
        bool keep = better<kMax>(value, next) | (tie_break_left & (value == next) & (at < next_at));
        o[j] = keep ? value : next;
        out_indices[j] = keep ? at : next_at;
        unordered |= next != next;
      }
    for (int64_t j = 0; unordered && j < inner; ++j) {
      bool nan = false;
      for (int64_t a = 0; a < axis; ++a) nan |= slab[a * inner + j] != slab[a * inner + j];
      if (nan)
        fold_halves<kMax>(o + j, out_indices + j, slab + j, slab_indices + j, axis, inner, tie_break_left);
    }
  }
}

// f16 and bf16: rows (inner == 1) or slabs widened to f32; the winning value is exact, so it narrows back to
// itself.
template <Type kType, bool kMax>
void arg_reduce_narrow(void* out_values, int32_t* out_indices, const void* values, const int32_t* indices,
                       int64_t outer, int64_t axis, int64_t inner, bool tie_break_left) {
  static const Loop widen = find_widen(kType), narrow = find_narrow(kType, Rounding::kNearestEven);
  auto* o = static_cast<uint16_t*>(out_values);
  auto* x = static_cast<const uint16_t*>(values);
  for (int64_t r = 0; r < outer; ++r)
    for (int64_t j = 0; j < inner; j += kChunk) {
      int64_t m = inner - j < kChunk ? inner - j : kChunk;
      float best[kChunk], next[kChunk];
      bool unordered[kChunk] = {};
      int32_t* at = out_indices + r * inner + j;
      for (int64_t a = 0; a < axis; ++a) {
        int64_t row = (r * axis + a) * inner + j;
        widen(a == 0 ? best : next, x + row, nullptr, nullptr, m);
        for (int64_t i = 0; i < m; ++i) {
          unordered[i] |= a == 0 ? best[i] != best[i] : next[i] != next[i];
          int32_t next_at = indices[row + i];
          bool keep = a != 0 && (better<kMax>(best[i], next[i]) ||
                                 (tie_break_left && best[i] == next[i] && at[i] < next_at));
          if (a != 0 && !keep) best[i] = next[i];
          if (!keep) at[i] = next_at;
        }
      }
      for (int64_t i = 0; i < m; ++i) {
        if (!unordered[i]) continue;
        std::vector<float> column(axis);
        std::vector<int32_t> column_at(axis);
        for (int64_t a = 0; a < axis; ++a) {
          int64_t element = (r * axis + a) * inner + j + i;
          widen(&column[a], x + element, nullptr, nullptr, 1);
          column_at[a] = indices[element];
        }
        fold_halves<kMax>(best + i, at + i, column, column_at, tie_break_left);
      }
      narrow(o + r * inner + j, best, nullptr, nullptr, m);
    }
}

template <bool kMax>
struct Best {
  using Fn = ArgReduceFn;
  template <class T>
  static constexpr Fn wide = arg_reduce<T, kMax>;
  template <Type kType>
  static constexpr Fn narrow = arg_reduce_narrow<kType, kMax>;
};

}  // namespace

ArgReduceFn find_arg_reduce(ArgOp op, Type type);
ArgReduceFn find_arg_reduce(ArgOp op, Type type) {
  switch (op) {
    case ArgOp::kMaxF:
      return pick_float<Best<true>>(type);
    case ArgOp::kMinF:
      return pick_float<Best<false>>(type);
    case ArgOp::kMaxS:
      return pick_signed<Best<true>>(type);
    case ArgOp::kMinS:
      return pick_signed<Best<false>>(type);
    case ArgOp::kMaxU:
      return pick_unsigned<Best<true>>(type);
    case ArgOp::kMinU:
      return pick_unsigned<Best<false>>(type);
  }
  return nullptr;
}

}  // namespace triton_runner::num::SIMD_ISA
