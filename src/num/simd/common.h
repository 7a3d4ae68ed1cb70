// Has the loops that the kernel files share: a formula applied to contiguous operands, which the compiler
// vectorises.
#pragma once
#include <triton_runner/num/formulas.h>

#include "simd/tables.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

// F on every element of kArity operands, the first of type A. `out` may be an operand of the same element size:
// lanes are independent either way.
template <int kArity, class Out, class In, class F, class A = In>
void map(void* out, const void* a, const void* b, const void* c, int64_t n) {
  auto* o = static_cast<Out*>(out);
  auto* x = static_cast<const A*>(a);
  auto* y = static_cast<const In*>(b);
  auto* z = static_cast<const In*>(c);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i)
    if constexpr (kArity == 1)
      o[i] = F{}(x[i]);
    else if constexpr (kArity == 2)
      o[i] = F{}(x[i], y[i]);
    else
      o[i] = F{}(x[i], y[i], z[i]);
}

// f(i, j), all of them unrolled: for arrays of vectors that stay in registers.
template <int kOuter, int kInner, class F>
NUM_INLINE void each(const F& f) {
#pragma GCC unroll 16
  for (int i = 0; i < kOuter; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < kInner; ++j) f(i, j);
}

// One of four functions by the width of an integer; null for other types, i1 and pointers among them.
template <class Fn>
inline Fn by_width(Type type, Fn i8, Fn i16, Fn i32, Fn i64) {
  return type == Type::kI8    ? i8
         : type == Type::kI16 ? i16
         : type == Type::kI32 ? i32
         : type == Type::kI64 ? i64
                              : nullptr;
}
inline Type without_pointers(Type type) { return type == Type::kPointer ? Type::kI64 : type; }

// The functions (Fn) of a family by the type of elements: Family::wide<T>, Family::narrow<Type> of f16 and bf16.
// Null for other types.
template <class Family>
typename Family::Fn pick_unsigned(Type type) {
  return by_width<typename Family::Fn>(type, Family::template wide<uint8_t>, Family::template wide<uint16_t>,
                                       Family::template wide<uint32_t>, Family::template wide<uint64_t>);
}
template <class Family>
typename Family::Fn pick_signed(Type type) {
  return by_width<typename Family::Fn>(type, Family::template wide<int8_t>, Family::template wide<int16_t>,
                                       Family::template wide<int32_t>, Family::template wide<int64_t>);
}
template <class Family>
typename Family::Fn pick_float(Type type) {
  switch (type) {
    case Type::kF16:
      return Family::template narrow<Type::kF16>;
    case Type::kBF16:
      return Family::template narrow<Type::kBF16>;
    case Type::kF32:
    case Type::kTF32:
      return Family::template wide<float>;
    case Type::kF64:
      return Family::template wide<double>;
    default:
      return nullptr;
  }
}

// The float types whose arithmetic is that of f32, rounded.
#define NUM_F32_CONTAINED(X) \
  X(kF16) X(kBF16) X(kF8E4M3FN) X(kF8E5M2) X(kF8E4M3FNUZ) X(kF8E5M2FNUZ) X(kF8E4M3B11FNUZ)

constexpr int size_of_float(Type type) {
  return type == Type::kF64                          ? 8
         : type == Type::kF32 || type == Type::kTF32 ? 4
         : type == Type::kF16 || type == Type::kBF16 ? 2
                                                     : 1;
}

constexpr int64_t kChunk = 256;  // elements that pass through stack buffers at a time

// Applies `inner`, a loop on f32, to a narrower float type: widened, computed, rounded once. kOutSize is 0 where the result
// is a float of the same type; otherwise inner's results (masks of that many bytes) are stored as they are. All loops on
// f32 share this code: a copy in each of them, a type each, took half of the time to compile these files.
template <Type T, int kArity, int kOutSize>
NUM_SHARED void around_f32(Loop inner, void* out, const void* a, const void* b, const void* c, int64_t n) {
  static const Loop widen = find_widen(T);
  static const Loop narrow = find_narrow(T, Rounding::kNearestEven);
  constexpr int kSize = size_of_float(T);
  alignas(64) float x[kChunk], y[kChunk], z[kChunk];
  auto* o = static_cast<char*>(out);
  auto* pa = static_cast<const char*>(a);
  auto* pb = static_cast<const char*>(b);
  auto* pc = static_cast<const char*>(c);
  for (int64_t i = 0; i < n; i += kChunk) {
    int64_t m = n - i < kChunk ? n - i : kChunk;
    widen(x, pa + i * kSize, nullptr, nullptr, m);
    if constexpr (kArity > 1) widen(y, pb + i * kSize, nullptr, nullptr, m);
    if constexpr (kArity > 2) widen(z, pc + i * kSize, nullptr, nullptr, m);
    if constexpr (kOutSize == 0) {
      inner(x, x, y, z, m);
      narrow(o + i * kSize, x, nullptr, nullptr, m);
    } else {
      inner(o + i * kOutSize, x, y, z, m);
    }
  }
}
template <Type T, Loop kInner, int kArity, int kOutSize>
void through_f32(void* out, const void* a, const void* b, const void* c, int64_t n) {
  around_f32<T, kArity, kOutSize>(kInner, out, a, b, c, n);
}

// The loop for type `in` out of a loop on f32, or null for types that do not go through f32.
template <Loop Inner, int kArity, int kOutSize = 0>
Loop narrow_loop(Type in) {
  switch (in) {
#define CASE(type) \
  case Type::type: \
    return through_f32<Type::type, Inner, kArity, kOutSize>;
    NUM_F32_CONTAINED(CASE)
#undef CASE
    default:
      return nullptr;
  }
}

// The loop for a float type out of those on f32 and f64; and that of F, with results of its type or of type Out.
template <Loop kF32, Loop kF64, int kArity, int kOutSize = 0>
Loop float_loop(Type in) {
  if (in == Type::kF32 || in == Type::kTF32) return kF32;
  return in == Type::kF64 ? kF64 : narrow_loop<kF32, kArity, kOutSize>(in);
}
template <int kArity, class F>
Loop float_loop_of(Type in) {
  return float_loop<map<kArity, float, float, F>, map<kArity, double, double, F>, kArity>(in);
}
template <int kArity, class Out, class F>
Loop float_loop_to(Type in) {
  return float_loop<map<kArity, Out, float, F>, map<kArity, Out, double, F>, kArity, sizeof(Out)>(in);
}

}  // namespace
}  // namespace triton_runner::num::SIMD_ISA
