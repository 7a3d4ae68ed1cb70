// Reduces and scans along the middle axis of [outer, axis, inner], in the order that reduce.h fixes.
#include "simd/accumulators.h"
#include "simd/common.h"
#include "simd/row_scan.h"
#include "simd/streams.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

// Each op: a formula on scalars and vectors, and the value that changes nothing.
#define OP(name, functor, identity_value)                          \
  template <class T>                                               \
  struct name : functor {                                          \
    static constexpr T kIdentity = static_cast<T>(identity_value); \
  };
template <class T>
constexpr T kLowest = kIsSigned<T> ? static_cast<T>(static_cast<uint64_t>(1) << (sizeof(T) * 8 - 1)) : T{0};
OP(AddI, add, 0)
OP(MulI, mul, 1)
OP(And, and_, ~T{0})
OP(Or, or_, 0)
OP(Xor, xor_, 0)
OP(Max, max, kLowest<T>)
OP(Min, min, ~kLowest<T>)
OP(AddF, add, -0.0)
OP(MulF, mul, 1.0)
OP(MaxNum, maxnumf, __builtin_nan(""))
OP(MinNum, minnumf, __builtin_nan(""))
OP(Maximum, maximumf, -__builtin_inf())
OP(Minimum, minimumf, __builtin_inf())

// maxnumf and minnumf of f32 rows in one instruction a vector: exact unless the row has only NaNs or its
// result is a zero (whose sign then depends on the order); those rows are left to the general way.
template <class T, bool kMax>
struct QuickLimit {
  static constexpr T kIdentity = kMax ? -__builtin_inff() : __builtin_inff();
  template <class V>
  NUM_INLINE V operator()(V x, V y) const {
    return limit(y, x);
  }  // y > x ? y : x: a NaN y leaves x

 private:
#if defined(SIMD_ISA_avx512)
  static inline __m512 limit(__m512 y, __m512 x) { return kMax ? _mm512_max_ps(y, x) : _mm512_min_ps(y, x); }
#elif defined(SIMD_ISA_avx2)
  static inline __m256 limit(__m256 y, __m256 x) { return kMax ? _mm256_max_ps(y, x) : _mm256_min_ps(y, x); }
#endif
  template <class V>
  static inline V limit(V y, V x) {
    return kMax ? (y > x ? y : x) : (y < x ? y : x);
  }
};
template <class T>
using QuickMax = QuickLimit<T, true>;
template <class T>
using QuickMin = QuickLimit<T, false>;

template <class T, template <class> class Op>
void reduce(void* out, const void* in, int64_t outer, int64_t axis, int64_t inner) {
  auto* o = static_cast<T*>(out);
  auto* x = static_cast<const T*>(in);
  if (inner == 1) {
    int64_t r = 0;
    if constexpr (sizeof(T) == 4) {
      using Rows = RowsAtOnce<T, Op>;
      for (; r + Rows::kLanes <= outer; r += Rows::kLanes) {
        Rows rows;
        for (int i = 0; i < Rows::kLanes; ++i) rows.set(i, x + (r + i) * axis, axis);
        const auto sums = rows.fold();
        __builtin_memcpy(o + r, &sums, sizeof sums);
      }
    }
    for (; r < outer; ++r) {
      Accumulators<T, Op> sum;
      sum.add(x + r * axis, axis);
      o[r] = sum.fold();
    }
    return;
  }
  for (int64_t r = 0; r < outer; ++r, o += inner) {
    __builtin_memcpy(o, x, static_cast<size_t>(inner) * sizeof(T));
    x += inner;
    for (int64_t a = 1; a < axis; ++a, x += inner)
#pragma GCC ivdep
      for (int64_t j = 0; j < inner; ++j) o[j] = Op<T>{}(o[j], x[j]);
  }
}

// A row that ends in one constant. Blocks of nothing else are added until they change nothing any more.
template <class T, template <class> class Op>
void reduce_padded(void* out, const void* in, int64_t n, int64_t axis, const void* pad) {
  auto* x = static_cast<const T*>(in);
  T constant;
  __builtin_memcpy(&constant, pad, sizeof(T));
  const int64_t whole = n / kAccumulators * kAccumulators;
  Accumulators<T, Op> sum;
  sum.add(x, whole);
  int64_t left = axis - whole;
  if (left >= kAccumulators) {
    sum.add_rest(x + whole, n - whole, constant);
    left -= kAccumulators;
    while (left >= kAccumulators && sum.add_constant(constant)) left -= kAccumulators;
    n = whole;
  }
  if (left % kAccumulators) {
    T block[kAccumulators];
    left %= kAccumulators;
    for (int64_t i = 0; i < left; ++i) block[i] = whole + i < n ? x[whole + i] : constant;
    sum.add(block, left);
  }
  *static_cast<T*>(out) = sum.fold();
}

template <template <class> class Quick, template <class> class Op>
void reduce_quick_padded(void* out, const void* in, int64_t n, int64_t axis, const void* pad) {
  float constant;
  __builtin_memcpy(&constant, pad, sizeof(float));
  Accumulators<float, Quick> quick;
  quick.add(static_cast<const float*>(in), n);
  float result = quick.fold();
  if (n < axis) result = Quick<float>{}(result, constant);
  if (result == 0.0f || result == Quick<float>::kIdentity)
    reduce_padded<float, Op>(out, in, n, axis, pad);
  else
    *static_cast<float*>(out) = result;
}

// A part of one row; `state` holds the accumulators between the parts.
template <class T, template <class> class Op>
void reduce_part(void* out, void* state, const void* in, int64_t n, bool first, bool last) {
  Accumulators<T, Op> sum;
  if (!first) __builtin_memcpy(sum.v, state, sizeof(sum.v));
  sum.add(static_cast<const T*>(in), n);
  if (last)
    *static_cast<T*>(out) = sum.fold();
  else
    __builtin_memcpy(state, sum.v, sizeof(sum.v));
}

// Apart, so that the quick way's accumulators stay in registers.
template <template <class> class Op>
__attribute__((noinline)) float reduce_row(const float* x, int64_t n) {
  Accumulators<float, Op> sum;
  sum.add(x, n);
  return sum.fold();
}

template <template <class> class Quick, template <class> class Op>
void reduce_quick(void* out, const void* in, int64_t outer, int64_t axis, int64_t inner) {
  if (inner != 1) return reduce<float, Op>(out, in, outer, axis, inner);
  auto* o = static_cast<float*>(out);
  auto* x = static_cast<const float*>(in);
  auto set = [&](int64_t r, float result) __attribute__((always_inline)) {
    const bool certain = result != 0.0f && result != Quick<float>::kIdentity;
    o[r] = certain ? result : reduce_row<Op>(x + r * axis, axis);
  };
  using Rows = RowsAtOnce<float, Quick>;
  int64_t r = 0;
  for (; r + Rows::kLanes <= outer; r += Rows::kLanes) {
    Rows rows;
    for (int i = 0; i < Rows::kLanes; ++i) rows.set(i, x + (r + i) * axis, axis);
    const auto limits = rows.fold();
    for (int i = 0; i < Rows::kLanes; ++i) set(r + i, limits[i]);
  }
  for (; r < outer; ++r) {
    Accumulators<float, Quick> quick;
    quick.add(x + r * axis, axis);
    set(r, quick.fold());
  }
}

// Sums and products; what is exact in any order (max, min, bits) and narrow integers go element by element.
template <class T, template <class> class Op>
constexpr bool kInGroups =
    sizeof(T) >= 4 && (__is_same(Op<T>, AddF<T>) || __is_same(Op<T>, MulF<T>) || __is_same(Op<T>, AddI<T>));

template <class T, template <class> class Op>
void scan(void* out, const void* in, int64_t outer, int64_t axis, int64_t inner, bool reverse) {
  auto* o = static_cast<T*>(out);
  auto* x = static_cast<const T*>(in);
  if constexpr (kInGroups<T, Op>)
    if (inner == 1) {
      for (int64_t r = 0; r < outer; ++r, o += axis, x += axis)
        reverse ? RowScan<T, Op>::template run<true>(o, x, axis)
                : RowScan<T, Op>::template run<false>(o, x, axis);
      return;
    }
  int64_t step = reverse ? -inner : inner;
  for (int64_t r = 0; r < outer; ++r) {
    int64_t at = r * axis * inner + (reverse ? (axis - 1) * inner : 0);
    if (inner == 1) {
      T carry = x[at];
      o[at] = carry;
      for (int64_t a = 1; a < axis; ++a) {
        at += step;
        o[at] = carry = Op<T>{}(carry, x[at]);
      }
      continue;
    }
    if (o != x) __builtin_memcpy(o + at, x + at, static_cast<size_t>(inner) * sizeof(T));
    for (int64_t a = 1; a < axis; ++a) {
      const T* previous = o + at;
      at += step;
#pragma GCC ivdep
      for (int64_t j = 0; j < inner; ++j) o[at + j] = Op<T>{}(previous[j], x[at + j]);
    }
  }
}

// f16 and bf16: widened, accumulated in f32, each result rounded once. The types share the code of an op.
template <template <class> class Op>
NUM_SHARED void reduce_by(Loop widen, Loop narrow, void* out, const void* in, int64_t outer, int64_t axis,
                          int64_t inner) {
  auto* o = static_cast<uint16_t*>(out);
  auto* x = static_cast<const uint16_t*>(in);
  alignas(64) float wide[kChunk], sum[kChunk];
  if (inner == 1) {
    for (int64_t r = 0; r < outer; r += kChunk) {
      int64_t rows = outer - r < kChunk ? outer - r : kChunk;
      for (int64_t i = 0; i < rows; ++i) {
        Accumulators<float, Op> total;
        for (int64_t a = 0; a < axis; a += kChunk) {
          int64_t m = axis - a < kChunk ? axis - a : kChunk;
          widen(wide, x + (r + i) * axis + a, nullptr, nullptr, m);
          total.add(wide, m);
        }
        sum[i] = total.fold();
      }
      narrow(o + r, sum, nullptr, nullptr, rows);
    }
    return;
  }
  for (int64_t r = 0; r < outer; ++r)
    for (int64_t j = 0; j < inner; j += kChunk) {
      int64_t m = inner - j < kChunk ? inner - j : kChunk;
      const uint16_t* row = x + r * axis * inner + j;
      widen(sum, row, nullptr, nullptr, m);
      for (int64_t a = 1; a < axis; ++a) {
        widen(wide, row + a * inner, nullptr, nullptr, m);
        for (int64_t i = 0; i < m; ++i) sum[i] = Op<float>{}(sum[i], wide[i]);
      }
      narrow(o + r * inner + j, sum, nullptr, nullptr, m);
    }
}

template <template <class> class Op>
NUM_SHARED void scan_by(Loop widen, Loop narrow, void* out, const void* in, int64_t outer, int64_t axis,
                        int64_t inner, bool reverse) {
  auto* o = static_cast<uint16_t*>(out);
  auto* x = static_cast<const uint16_t*>(in);
  alignas(64) float wide[kChunk], sum[kChunk];
  for (int64_t r = 0; r < outer; ++r)
    for (int64_t j = 0; j < inner; j += kChunk) {
      int64_t m = inner - j < kChunk ? inner - j : kChunk;
      for (int64_t a = 0; a < axis; ++a) {
        int64_t at = (r * axis + (reverse ? axis - 1 - a : a)) * inner + j;
        widen(a == 0 ? sum : wide, x + at, nullptr, nullptr, m);
        if (a != 0)
          for (int64_t i = 0; i < m; ++i) sum[i] = Op<float>{}(sum[i], wide[i]);
        narrow(o + at, sum, nullptr, nullptr, m);
      }
    }
}

template <Type kType, template <class> class Op>
void reduce_narrow(void* out, const void* in, int64_t outer, int64_t axis, int64_t inner) {
  static const Loop widen = find_widen(kType), narrow = find_narrow(kType, Rounding::kNearestEven);
  reduce_by<Op>(widen, narrow, out, in, outer, axis, inner);
}
template <Type kType, template <class> class Op>
void scan_narrow(void* out, const void* in, int64_t outer, int64_t axis, int64_t inner, bool reverse) {
  static const Loop widen = find_widen(kType), narrow = find_narrow(kType, Rounding::kNearestEven);
  scan_by<Op>(widen, narrow, out, in, outer, axis, inner, reverse);
}

// Both kinds of function by one pick: which is kReduce or kScan.
struct Reducing {
  using Fn = ReduceFn;
  template <class T, template <class> class Op>
  static constexpr Fn wide = reduce<T, Op>;
  template <Type kType, template <class> class Op>
  static constexpr Fn narrow = reduce_narrow<kType, Op>;
};
struct Scanning {
  using Fn = ScanFn;
  template <class T, template <class> class Op>
  static constexpr Fn wide = scan<T, Op>;
  template <Type kType, template <class> class Op>
  static constexpr Fn narrow = scan_narrow<kType, Op>;
};

template <class Kind, template <class> class Op>
struct Of {
  using Fn = typename Kind::Fn;
  template <class T>
  static constexpr Fn wide = Kind::template wide<T, Op>;
  template <Type kType>
  static constexpr Fn narrow = Kind::template narrow<kType, Op>;
};

// i1 as bytes of 0 and 1; signed, true is -1, so that its maximum is an and.
template <class Kind>
typename Kind::Fn pick_i1(ReduceOp op) {
  switch (op) {
    case ReduceOp::kAddI:
    case ReduceOp::kXor:
      return Kind::template wide<uint8_t, Xor>;
    case ReduceOp::kMulI:
    case ReduceOp::kAnd:
    case ReduceOp::kMinU:
    case ReduceOp::kMaxS:
      return Kind::template wide<uint8_t, And>;
    case ReduceOp::kOr:
    case ReduceOp::kMaxU:
    case ReduceOp::kMinS:
      return Kind::template wide<uint8_t, Or>;
    default:
      return nullptr;
  }
}

template <class Kind>
typename Kind::Fn pick(ReduceOp op, Type type) {
  if (type == Type::kI1) return pick_i1<Kind>(op);
  switch (op) {
#define CASE(name, pick_of, Op) \
  case ReduceOp::name:          \
    return pick_of<Of<Kind, Op>>(type);
    CASE(kAddI, pick_unsigned, AddI)
    CASE(kMulI, pick_unsigned, MulI)
    CASE(kAnd, pick_unsigned, And)
    CASE(kOr, pick_unsigned, Or)
    CASE(kXor, pick_unsigned, Xor)
    CASE(kMaxS, pick_signed, Max)
    CASE(kMaxU, pick_unsigned, Max)
    CASE(kMinS, pick_signed, Min)
    CASE(kMinU, pick_unsigned, Min)
    CASE(kAddF, pick_float, AddF)
    CASE(kMulF, pick_float, MulF)
    CASE(kMaxNum, pick_float, MaxNum)
    CASE(kMinNum, pick_float, MinNum)
    CASE(kMaximum, pick_float, Maximum)
    CASE(kMinimum, pick_float, Minimum)
#undef CASE
  }
  return nullptr;
}

ReduceFn pick_reduce(ReduceOp op, Type type) {
  if (type == Type::kF32 && op == ReduceOp::kMaxNum) return reduce_quick<QuickMax, MaxNum>;
  if (type == Type::kF32 && op == ReduceOp::kMinNum) return reduce_quick<QuickMin, MinNum>;
  return pick<Reducing>(op, type);
}

}  // namespace

ReducePartFn find_reduce_part(ReduceOp op, Type type) {
  const bool sum = op == ReduceOp::kAddF;
  if (type == Type::kF32)
    return sum ? reduce_part<float, AddF> : op == ReduceOp::kMulF ? reduce_part<float, MulF> : nullptr;
  if (type == Type::kF64)
    return sum ? reduce_part<double, AddF> : op == ReduceOp::kMulF ? reduce_part<double, MulF> : nullptr;
  if (type == Type::kI32 && op == ReduceOp::kAddI) return reduce_part<uint32_t, AddI>;
  if (type == Type::kI64 && op == ReduceOp::kAddI) return reduce_part<uint64_t, AddI>;
  return nullptr;
}

ReducePaddedFn find_reduce_padded(ReduceFn reduce) {
  struct Pair {
    ReduceFn reduce;
    ReducePaddedFn padded;
  };
#define PAIR(T, Op)                               \
  {                                               \
    SIMD_ISA::reduce<T, Op>, reduce_padded<T, Op> \
  }
  static constexpr Pair kPairs[] = {{reduce_quick<QuickMax, MaxNum>, reduce_quick_padded<QuickMax, MaxNum>},
                                    {reduce_quick<QuickMin, MinNum>, reduce_quick_padded<QuickMin, MinNum>},
                                    PAIR(float, AddF),
                                    PAIR(float, MulF),
                                    PAIR(float, Maximum),
                                    PAIR(float, Minimum),
                                    PAIR(double, AddF),
                                    PAIR(double, MulF),
                                    PAIR(double, MaxNum),
                                    PAIR(double, MinNum),
                                    PAIR(double, Maximum),
                                    PAIR(double, Minimum)};
#undef PAIR
  for (const Pair& p : kPairs)
    if (p.reduce == reduce) return p.padded;
  return nullptr;
}

ArgReduceFn find_arg_reduce(ArgOp op, Type type);
const ReduceTable reduce_table = {pick_reduce, pick<Scanning>, find_arg_reduce};

}  // namespace triton_runner::num::SIMD_ISA
