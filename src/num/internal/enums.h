// Declares the bare enumerations that choose a formula, besides its types.
#pragma once
#include <stdint.h>

namespace triton_runner::num {

enum Direction : uint32_t { kNearest, kZero, kDownward, kUpward, kNearestAway };  // of rounding

enum Comparison : uint32_t {
  kCmpEq,
  kCmpNe,
  kCmpLt,
  kCmpLe,
  kCmpGt,
  kCmpGe,  // false if unordered (Ne too)
  kCmpEqu,
  kCmpNeu,
  kCmpLtu,
  kCmpLeu,
  kCmpGtu,
  kCmpGeu,  // true if unordered
  kCmpNum,
  kCmpNan,
  kComparisons
};

}  // namespace triton_runner::num
