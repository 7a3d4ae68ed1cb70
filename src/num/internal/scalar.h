// Finds the functions of tt.extern_elementwise that run one element at a time: operands of different types
// (jn, powi), four operands (norm4d), and arithmetic with the rounding in its name (__nv_fadd_rd). The rest
// of libdevice is in elementwise.h. Results are the same on every instruction set.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include <triton_runner/num/types.h>

namespace triton_runner::num {

inline constexpr int kMaxScalarOperands = 4;

struct ScalarFunction {
  std::string_view symbol;
  uint8_t arity;
  // in[i] holds the bits of operand i, which is of type types[i]; gives bits of type `out`, zero-extended.
  uint64_t (*call)(const uint64_t* in, const Type* types, Type out);
  // Whether it takes these types.
  bool (*accepts)(std::span<const Type> types, Type out);
};

// "__nv_fadd_rd", "__ocml_pown_f32"; null if we have none.
const ScalarFunction* find_scalar_function(std::string_view symbol);
std::span<const ScalarFunction> scalar_functions();

// x to the power of an integer (math.fpowi, __nv_powi): pow of the C library in f64.
double power_of_int(double x, int64_t n);
// a to the power n modulo 2^64 (math.ipowi); n below 0 gives 1 / a^-n toward zero. False, and nothing is set:
// 0 to a negative power.
bool int_power(int64_t a, int64_t n, int64_t* out);

}  // namespace triton_runner::num
