// Every float of 19 bits and fewer as its description, and the conversions from and to f32 in any rounding,
// for all but the hot cases.
#pragma once
#include "simd/halves.h"

namespace triton_runner::ptx::SIMD_ISA {
namespace {

enum class Nan : uint8_t { kIeee, kAllOnes, kNone };

struct Format {
  int32_t width, mantissa, bias;
  Nan nan;
  bool infinity;
  uint32_t largest, nan_code;
};
constexpr Format kF16Format{16, 10, 15, Nan::kIeee, true, 0x7bff, 0x7fff};
constexpr Format kBf16Format{16, 7, 127, Nan::kIeee, true, 0x7f7f, 0x7fff};
constexpr Format kTf32Format{19, 10, 127, Nan::kIeee, true, 0x3fbff, 0x3ffff};
constexpr Format kE4m3Format{8, 3, 7, Nan::kAllOnes, false, 0x7e, 0x7f};
constexpr Format kE5m2Format{8, 2, 15, Nan::kIeee, true, 0x7b, 0x7f};
constexpr Format kE2m3Format{6, 3, 1, Nan::kNone, false, 0x1f, 0x1f};
constexpr Format kE3m2Format{6, 2, 3, Nan::kNone, false, 0x1f, 0x1f};
constexpr Format kE2m1Format{4, 1, 1, Nan::kNone, false, 0x7, 0x7};

PTX_INLINE uint32_t encode(float value, const Format& f, uint32_t direction, bool satfinite) {
  uint32_t x = bits_as<uint32_t>(value), size = x & 0x7fffffff, sign = x >> 31;
  uint32_t field = size >> 23, fraction = (size & 0x7fffff) | (field != 0 ? 0x800000u : 0u);
  int32_t exponent = int32_t(field != 0 ? field : 1) - 127 + f.bias;  // 1 and above: normal
  int32_t under = exponent < 1 ? 1 - exponent : 0;
  uint32_t shift = uint32_t(23 - f.mantissa + (under < 26 ? under : 26));
  shift = shift < 26 ? shift : 26;
  uint32_t kept = fraction >> shift, rest = fraction & ((1u << shift) - 1), half = 1u << (shift - 1);
  bool up = direction == kNearest       ? rest > half || (rest == half && (kept & 1))
            : direction == kNearestAway ? rest >= half
            : direction == kDownward    ? sign != 0 && rest != 0
            : direction == kUpward      ? sign == 0 && rest != 0
                                        : false;
  uint32_t code = (uint32_t(exponent < 1 ? 0 : exponent - 1) << f.mantissa) + kept + (up ? 1u : 0u);
  bool away = direction == kNearest || direction == kNearestAway || direction == (sign ? kDownward : kUpward);
  uint32_t top = f.infinity ? f.largest + 1 : f.nan == Nan::kAllOnes ? f.nan_code : f.largest;
  uint32_t over = satfinite || !away ? f.largest : top;
  code = code > f.largest || exponent > 1024 ? over : code;
  code = size == 0x7f800000 ? (satfinite ? f.largest : top) : code;
  code |= sign << (f.width - 1);
  return size > 0x7f800000 ? f.nan_code : code;
}

PTX_INLINE float decode(uint32_t code, const Format& f) {
  uint32_t sign = code >> (f.width - 1) & 1, size = code & ((1u << (f.width - 1)) - 1);
  float scale = bits_as<float>(uint32_t(254 - f.bias) << 23);  // 2^(127 - bias)
  uint32_t bits = bits_as<uint32_t>(bits_as<float>(size << (23 - f.mantissa)) * scale);
  bits = f.infinity && size > f.largest ? 0x7f800000 : bits;
  bool nan = f.nan == Nan::kAllOnes ? size == f.nan_code : f.nan == Nan::kIeee && size > f.largest + 1;
  return bits_as<float>(nan ? 0x7fffffff : bits | sign << 31);
}

// 2^(code - 127), code 255: NaN.
PTX_INLINE uint32_t encode_scale(float value, uint32_t direction, bool satfinite) {
  uint32_t x = bits_as<uint32_t>(value), field = x >> 23 & 0xff, fraction = x & 0x7fffff;
  uint32_t code =
      field + (direction == kUpward && (field == 0 ? fraction > 0x400000 : fraction != 0) ? 1u : 0u);
  code = code > 0xfe || field == 0xff ? (satfinite ? 0xfe : 0xff) : code;
  return (x & 0x7fffffff) > 0x7f800000 || (x >> 31 && (x << 1) != 0) ? 0xff : code;
}
PTX_INLINE float decode_scale(uint32_t code) {
  return bits_as<float>(code == 0xff ? 0x7fffffff : code == 0 ? 0x00400000 : code << 23);
}

}  // namespace
}  // namespace triton_runner::ptx::SIMD_ISA
