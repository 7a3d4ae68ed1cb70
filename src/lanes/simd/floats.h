// Holds the formulas of floating-point arithmetic as NVIDIA's hardware has it: f32 NaNs are 0x7fffffff,
// subnormals are kept unless .ftz, minimum and maximum order the zeros. See PTX ISA 9.7.3.
#pragma once
#include <triton_runner/num/formats.h>

#include "simd/loops.h"

namespace triton_runner::lanes::SIMD_ISA {
namespace {

using num::Rounding;

LANES_INLINE float nan_f32() { return bits_as<float>(0x7fffffffu); }

LANES_INLINE float flushed(float x) {
  uint32_t bits = bits_as<uint32_t>(x);
  return bits_as<float>(bits & 0x7f800000 ? bits : bits & 0x80000000);
}
LANES_INLINE double flushed(double x) { return x; }
LANES_INLINE float canonical(float r) { return r == r ? r : nan_f32(); }
LANES_INLINE float saturated(float r) {
  r = r > 0.0f ? r : 0.0f;  // NaN too
  return r < 1.0f ? r : 1.0f;
}
LANES_INLINE double saturated(double r) {
  r = r > 0.0 ? r : 0.0;
  return r < 1.0 ? r : 1.0;
}
// f64 results keep the payload of a NaN operand, of b before c before a; made ones are negative (measured on
// H100).
LANES_INLINE double quiet(double x) { return bits_as<double>(bits_as<uint64_t>(x) | 0x0008000000000000); }
LANES_INLINE double propagated(double r, double a, double b) {
  double nan = b != b ? quiet(b) : a != a ? quiet(a) : bits_as<double>(0xfff8000000000000);
  return r == r ? r : nan;
}
LANES_INLINE double propagated(double r, double a, double b, double c) {
  double nan = b != b   ? quiet(b)
               : c != c ? quiet(c)
               : a != a ? quiet(a)
                        : bits_as<double>(0xfff8000000000000);
  return r == r ? r : nan;
}

// f16 and bf16, T: F16 or BF16.
template <class T>
LANES_INLINE uint16_t flushed_half(uint16_t h) {
  return h & T::kExponent ? h : h & 0x8000;
}

}  // namespace
}  // namespace triton_runner::lanes::SIMD_ISA
