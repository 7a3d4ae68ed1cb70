// Declares arithmetic that is exactly rounded in any direction, in integers: the hardware gives the same
// under that rounding mode, whose state is not touched. Operands that are not finite, and zeros, give what
// IEEE 754 says.
#pragma once
#include <cstdint>

#include <triton_runner/num/enums.h>

namespace triton_runner::num {

// T is float or double.
template <class T>
T add_directed(T a, T b, Direction to);
template <class T>
T mul_directed(T a, T b, Direction to);
template <class T>
T div_directed(T a, T b, Direction to);
template <class T>
T sqrt_directed(T a, Direction to);
template <class T>
T fma_directed(T a, T b, T c, Direction to);
template <class T>
T from_int_directed(uint64_t magnitude, bool negative, Direction to);
float narrow_directed(double a, Direction to);

}  // namespace triton_runner::num
