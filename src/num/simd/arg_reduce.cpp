// argmax and argmin: (value, index) pairs folded left to right along the axis, as reduce.h says.
#include "simd/codec.h"

#include <triton_runner/num/reduce_ops.h>

namespace triton_runner::num::NUM_ISA {
namespace {

template <bool kMax, class T>
inline bool better(T left, T right) {
  return kMax ? left > right : left < right;
}

// One row by the definition.
template <class T, bool kMax>
inline void fold_row(T* out_value, int32_t* out_index, const T* x, const int32_t* index, int64_t n,
                     bool tie_break_left) {
  T value = x[0];
  int32_t at = index[0];
  for (int64_t i = 1; i < n; ++i) {
    bool keep = better<kMax>(value, x[i]) || (tie_break_left && value == x[i] && at < index[i]);
    value = keep ? value : x[i];
    at = keep ? at : index[i];
  }
  *out_value = value;
  *out_index = at;
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
      int32_t* at = out_indices + r * inner + j;
      for (int64_t a = 0; a < axis; ++a) {
        int64_t row = (r * axis + a) * inner + j;
        widen(a == 0 ? best : next, x + row, nullptr, nullptr, m);
        for (int64_t i = 0; i < m; ++i) {
          int32_t next_at = indices[row + i];
          bool keep = a != 0 && (better<kMax>(best[i], next[i]) ||
                                 (tie_break_left && best[i] == next[i] && at[i] < next_at));
          if (a != 0 && !keep) best[i] = next[i];
          if (!keep) at[i] = next_at;
        }
      }
      narrow(o + r * inner + j, best, nullptr, nullptr, m);
    }
}

template <bool kMax>
ArgReduceFn pick_float(Type type) {
  switch (type) {
    case Type::kF16:
      return arg_reduce_narrow<Type::kF16, kMax>;
    case Type::kBF16:
      return arg_reduce_narrow<Type::kBF16, kMax>;
    case Type::kF32:
    case Type::kTF32:
      return arg_reduce<float, kMax>;
    case Type::kF64:
      return arg_reduce<double, kMax>;
    default:
      return nullptr;
  }
}

template <bool kMax, class T8, class T16, class T32, class T64>
ArgReduceFn pick_int(Type type) {
  switch (type) {
    case Type::kI8:
      return arg_reduce<T8, kMax>;
    case Type::kI16:
      return arg_reduce<T16, kMax>;
    case Type::kI32:
      return arg_reduce<T32, kMax>;
    case Type::kI64:
      return arg_reduce<T64, kMax>;
    default:
      return nullptr;
  }
}

}  // namespace

ArgReduceFn find_arg_reduce(ArgOp op, Type type);
ArgReduceFn find_arg_reduce(ArgOp op, Type type) {
  switch (op) {
    case ArgOp::kMaxF:
      return pick_float<true>(type);
    case ArgOp::kMinF:
      return pick_float<false>(type);
    case ArgOp::kMaxS:
      return pick_int<true, int8_t, int16_t, int32_t, int64_t>(type);
    case ArgOp::kMinS:
      return pick_int<false, int8_t, int16_t, int32_t, int64_t>(type);
    case ArgOp::kMaxU:
      return pick_int<true, uint8_t, uint16_t, uint32_t, uint64_t>(type);
    case ArgOp::kMinU:
      return pick_int<false, uint8_t, uint16_t, uint32_t, uint64_t>(type);
  }
  return nullptr;
}

}  // namespace triton_runner::num::NUM_ISA
