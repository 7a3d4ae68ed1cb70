// Converts whole tiles between float types, and unpacks four-bit floats.
#pragma once
#include <cstdint>

#include <triton_runner/num/elementwise.h>

namespace triton_runner::num {

// As types.h's convert_float, n contiguous elements. `out` may be `in` if the sizes are equal.
void convert(void* out, Type to, const void* in, Type from, int64_t n,
             Rounding rounding = Rounding::kNearestEven);
// The kernel that convert runs, for callers that look it up once; every pair of float types has one.
Kernel convert_kernel(Type from, Type to, Rounding rounding = Rounding::kNearestEven);

// Two e2m1 values a byte, the low four bits first: 2 * n_bytes values of type f16, bf16 or f32.
void unpack_f4(void* out, Type to, const uint8_t* packed, int64_t n_bytes);

}  // namespace triton_runner::num
