// Redux folds registers by minimum, maximum and so on, one step at a time: for redux.sync and tcgen05.ld.red.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>

#include "state/exec.h"

namespace triton_runner::simt {

enum class Redux : uint8_t { kAdd, kMinS, kMaxS, kMinU, kMaxU, kAnd, kOr, kXor, kMinF, kMaxF };
LANES_INLINE uint32_t redux_float(uint32_t a, uint32_t b, bool max, bool nan) {
  float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  if (std::isnan(x) || std::isnan(y)) {
    if (nan || (std::isnan(x) && std::isnan(y))) return 0x7fffffff;
    return std::isnan(x) ? b : a;
  }
  if (x == y) return max ? a & b : a | b;  // -0 is less than +0; otherwise the bits are the same
  return (x < y) == max ? b : a;
}

LANES_INLINE uint32_t redux_step(Redux op, uint32_t a, uint32_t b, bool nan) {
  switch (op) {
    case Redux::kAdd:
      return a + b;
    case Redux::kMinS:
      return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b;
    case Redux::kMaxS:
      return static_cast<int32_t>(a) > static_cast<int32_t>(b) ? a : b;
    case Redux::kMinU:
      return std::min(a, b);
    case Redux::kMaxU:
      return std::max(a, b);
    case Redux::kAnd:
      return a & b;
    case Redux::kOr:
      return a | b;
    case Redux::kXor:
      return a ^ b;
    case Redux::kMinF:
      return redux_float(a, b, false, nan);
    case Redux::kMaxF:
      return redux_float(a, b, true, nan);
  }
  return a;
}

}  // namespace triton_runner::simt
