// Formulas of floating-point arithmetic as NVIDIA's hardware has it: f32 NaNs are 0x7fffffff, subnormals are
// kept unless .ftz, minimum and maximum order the zeros. PTX ISA 9.7.3.
#pragma once
#include "simd/loops.h"

namespace triton_runner::ptx::SIMD_ISA {
namespace {

PTX_INLINE float nan_f32() { return bits_as<float>(0x7fffffffu); }

PTX_INLINE float flushed(float x) {
  uint32_t bits = bits_as<uint32_t>(x);
  return bits_as<float>(bits & 0x7f800000 ? bits : bits & 0x80000000);
}
PTX_INLINE double flushed(double x) { return x; }
PTX_INLINE float canonical(float r) { return r == r ? r : nan_f32(); }
PTX_INLINE float saturated(float r) {
  r = r > 0.0f ? r : 0.0f;  // NaN too
  return r < 1.0f ? r : 1.0f;
}
PTX_INLINE double saturated(double r) {
  r = r > 0.0 ? r : 0.0;
  return r < 1.0 ? r : 1.0;
}
PTX_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
PTX_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

// f64 results keep the payload of a NaN operand, of b before c before a; made ones are negative (measured on
// H100).
PTX_INLINE double quiet(double x) { return bits_as<double>(bits_as<uint64_t>(x) | 0x0008000000000000); }
PTX_INLINE double propagated(double r, double a, double b) {
  double nan = b != b ? quiet(b) : a != a ? quiet(a) : bits_as<double>(0xfff8000000000000);
  return r == r ? r : nan;
}
PTX_INLINE double propagated(double r, double a, double b, double c) {
  double nan = b != b ? quiet(b) : c != c ? quiet(c) : a != a ? quiet(a) : bits_as<double>(0xfff8000000000000);
  return r == r ? r : nan;
}

// The larger and smaller number, -0 below +0, a NaN only if both are (kNan: if one is).
template <bool kMax, class U, class T>
PTX_INLINE T extreme(T a, T b) {
  U equal = kMax ? bits_as<U>(a) & bits_as<U>(b) : bits_as<U>(a) | bits_as<U>(b);
  bool first = kMax ? a > b : a < b;
  T r = a == b ? bits_as<T>(equal) : first ? a : b;
  r = a != a ? b : r;
  return b != b ? a : r;
}

}  // namespace
}  // namespace triton_runner::ptx::SIMD_ISA
