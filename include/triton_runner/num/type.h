// Lists the element types of tiles: just the enumeration, so that ISA-specific files may include it.
#pragma once
#include <cstdint>

namespace triton_runner::num {

enum class Type : uint8_t {
  kI1,  // stored as a byte, 0 or 1
  kI8,  // integers are signless: the op says how to read them
  kI16,
  kI32,
  kI64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kTF32,           // stored as f32; only conversions *to* it and dot operands round to 10 mantissa bits
  kF8E4M3FN,       // bias 7, no infinity, NaN 0x7f and 0xff
  kF8E5M2,         // bias 15, IEEE infinities and NaNs
  kF8E4M3FNUZ,     // bias 8, NaN 0x80, no -0, no infinity (AMD gfx942)
  kF8E5M2FNUZ,     // bias 16, NaN 0x80, no -0, no infinity (AMD gfx942)
  kF8E4M3B11FNUZ,  // MLIR's name under which Triton carries its fp8e4b15: bias 15, no NaN, no infinity, has
                   // -0
  kF8E8M0FNU,      // 2^(x-127), unsigned, NaN 0xff: block scales
  kF6E2M3FN,       // one a byte, in the low six bits; finite only
  kF6E3M2FN,
  kF4E2M1FN,  // one a byte, in the low four bits; packed pairs go through unpack_f4
  kPointer,   // u64
};
inline constexpr int kTypeCount = 20;

enum class Isa : uint8_t { kPortable, kAvx2, kAvx512 };

// Rounding of conversions to a narrower float: Triton's rtne and rtz.
enum class Rounding : uint8_t { kNearestEven, kTowardZero };

}  // namespace triton_runner::num
