// Specifies every element type by its conversions from and to f64, which holds each of its values exactly.
#include <triton_runner/num/types.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace triton_runner::num {
namespace {

enum class Nan : uint8_t { kIeee, kAllOnes, kNegativeZero, kNone };

// A type's form. Floats: [sign] exponent mantissa from the top, largest = bits of the largest finite value.
struct Info {
  std::string_view name;
  uint8_t size, width, exponent, mantissa;
  int16_t bias;
  bool infinity, is_signed;
  Nan nan;
  uint64_t largest, canonical_nan;
};

// clang-format off
constexpr Info kInfo[kTypeCount] = {
    {"i1", 1, 1}, {"i8", 1, 8}, {"i16", 2, 16}, {"i32", 4, 32}, {"i64", 8, 64},
    {"f16", 2, 16, 5, 10, 15, true, true, Nan::kIeee, 0x7bff, 0x7fff},
    {"bf16", 2, 16, 8, 7, 127, true, true, Nan::kIeee, 0x7f7f, 0x7fff},
    {"f32", 4, 32, 8, 23, 127, true, true, Nan::kIeee, 0x7f7fffff, 0x7fffffff},
    {"f64", 8, 64, 11, 52, 1023, true, true, Nan::kIeee, 0x7fefffffffffffff, 0x7fffffffffffffff},
    {"tf32", 4, 32, 8, 23, 127, true, true, Nan::kIeee, 0x7f7fe000, 0x7fffffff},
    {"f8E4M3FN", 1, 8, 4, 3, 7, false, true, Nan::kAllOnes, 0x7e, 0x7f},
    {"f8E5M2", 1, 8, 5, 2, 15, true, true, Nan::kIeee, 0x7b, 0x7f},
    {"f8E4M3FNUZ", 1, 8, 4, 3, 8, false, true, Nan::kNegativeZero, 0x7f, 0x80},
    {"f8E5M2FNUZ", 1, 8, 5, 2, 16, false, true, Nan::kNegativeZero, 0x7f, 0x80},
    {"f8E4M3B11FNUZ", 1, 8, 4, 3, 15, false, true, Nan::kNone, 0x7f, 0x7f},
    {"f8E8M0FNU", 1, 8, 8, 0, 127, false, false, Nan::kAllOnes, 0xfe, 0xff},
    {"f6E2M3FN", 1, 6, 2, 3, 1, false, true, Nan::kNone, 0x1f, 0x1f},
    {"f6E3M2FN", 1, 6, 3, 2, 3, false, true, Nan::kNone, 0x1f, 0x1f},
    {"f4E2M1FN", 1, 4, 2, 1, 1, false, true, Nan::kNone, 0x7, 0x7},
    {"ptr", 8, 64},
};
// clang-format on

const Info& info(Type type) { return kInfo[static_cast<int>(type)]; }

uint64_t low_bits(int n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

// Values that are exact in binary are rounded here in one place: q is |x| in units of the last place.
double round_integral(double q, Rounding rounding) {
  double down = std::floor(q);
  if (rounding == Rounding::kTowardZero) return down;
  double rest = q - down;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(down, 2.0) != 0)) return down + 1;
  return down;
}

// 2^(x-127): the nearest power of two (even exponent field on ties), or the next below; negative numbers are
// NaN.
uint64_t scale_from_double(double value, Rounding rounding, Overflow overflow) {
  if (std::isnan(value) || value < 0) return 0xff;
  if (value == 0) return 0;
  if (std::isinf(value)) return overflow == Overflow::kAsHardware ? 0xfe : 0xff;
  int exponent;
  double fraction = std::frexp(value, &exponent) * 2;  // [1, 2)
  int field = exponent - 1 + 127;
  if (rounding == Rounding::kNearestEven && (fraction > 1.5 || (fraction == 1.5 && (field & 1)))) ++field;
  if (field < 0) return 0;
  if (field > 0xfe) return overflow == Overflow::kAsHardware ? 0xfe : 0xff;
  return static_cast<uint64_t>(field);
}

// cvt.rna.tf32.f32: half away from zero, in the bits; the mantissa's low 13 bits become 0.
uint64_t round_tf32(uint32_t bits, Rounding rounding) {
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fffffff;
  if ((bits & 0x7f800000) == 0x7f800000) return bits;
  if (rounding == Rounding::kNearestEven) bits += 0x1000;
  return bits & 0xffffe000;
}

}  // namespace

size_t size_of(Type type) { return info(type).size; }
int width_of(Type type) { return info(type).width; }
bool is_float(Type type) { return info(type).exponent != 0; }
bool is_integer(Type type) { return type <= Type::kI64; }
std::string_view type_name(Type type) { return info(type).name; }

std::optional<Type> parse_type(std::string_view name) {
  for (int i = 0; i < kTypeCount; ++i)
    if (kInfo[i].name == name) return static_cast<Type>(i);
  return std::nullopt;
}

double to_double(uint64_t bits, Type type) {
  if (type == Type::kF64) return std::bit_cast<double>(bits);
  if (type == Type::kF32 || type == Type::kTF32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  const Info& f = info(type);
  if (type == Type::kF8E8M0FNU)
    return bits == 0xff ? std::numeric_limits<double>::quiet_NaN()
                        : std::ldexp(1.0, static_cast<int>(bits) - 127);
  bool negative = bits >> (f.width - 1) & 1;
  uint64_t magnitude = bits & low_bits(f.width - 1);
  uint64_t mantissa = magnitude & low_bits(f.mantissa);
  int exponent = static_cast<int>(magnitude >> f.mantissa);
  bool top = exponent == static_cast<int>(low_bits(f.exponent));
  bool nan = f.nan == Nan::kIeee           ? top && mantissa != 0
             : f.nan == Nan::kAllOnes      ? magnitude == low_bits(f.width - 1)
             : f.nan == Nan::kNegativeZero ? negative && magnitude == 0
                                           : false;
  double value;
  if (nan) {  // sign and payload kept, quiet
    uint64_t payload = (mantissa << (52 - f.mantissa)) | 0x7ff8000000000000;
    return std::bit_cast<double>(payload | (negative ? uint64_t{1} << 63 : 0));
  } else if (f.infinity && top) {
    value = std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa);
  } else {
    value =
        std::ldexp(static_cast<double>(mantissa | uint64_t{1} << f.mantissa), exponent - f.bias - f.mantissa);
  }
  return negative ? -value : value;
}

uint64_t from_double(double value, Type type, Rounding rounding, Overflow overflow) {
  if (type == Type::kF64) return std::bit_cast<uint64_t>(value);
  if (type == Type::kF8E8M0FNU) return scale_from_double(value, rounding, overflow);
  if (type == Type::kTF32) {
    // The f64 as f32 rounded to odd, so that rounding again is as if from the f64 itself.
    auto narrow = static_cast<uint32_t>(from_double(value, Type::kF32, Rounding::kTowardZero, overflow));
    if (!std::isnan(value) && static_cast<double>(std::bit_cast<float>(narrow)) != value &&
        !std::isinf(value))
      narrow |= 1;
    return round_tf32(narrow, rounding);
  }
  const Info& f = info(type);
  uint64_t sign = std::signbit(value) ? uint64_t{1} << (f.width - 1) : 0;
  if (std::isnan(value)) return f.canonical_nan;
  double magnitude = std::fabs(value);
  bool saturate = overflow == Overflow::kAsHardware && f.width <= 8;
  uint64_t infinity = f.infinity ? low_bits(f.exponent) << f.mantissa : f.canonical_nan;
  uint64_t overflowed = saturate || f.nan == Nan::kNone ? sign | f.largest
                        : f.nan == Nan::kNegativeZero   ? 0x80
                                                        : sign | infinity;
  if (std::isinf(value)) return overflowed;
  uint64_t bits = 0;
  if (magnitude != 0) {
    int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
    double q = round_integral(std::ldexp(magnitude, f.mantissa - exponent), rounding);
    auto units =
        static_cast<uint64_t>(q);  // at most 2^(mantissa + 1): a carry runs into the exponent by itself
    uint64_t hidden = uint64_t{1} << f.mantissa;
    bits =
        units < hidden ? units : (static_cast<uint64_t>(exponent + f.bias) << f.mantissa) + (units - hidden);
    if (bits > f.largest) return rounding == Rounding::kTowardZero ? sign | f.largest : overflowed;
  }
  if (bits == 0 && f.nan == Nan::kNegativeZero) return 0;
  return sign | bits;
}

uint64_t convert_float(uint64_t bits, Type from, Type to, Rounding rounding, Overflow overflow) {
  if (from == to && from != Type::kTF32) return bits;
  if (to == Type::kTF32 && (from == Type::kF32 || from == Type::kTF32))
    return round_tf32(static_cast<uint32_t>(bits), rounding);
  if (from == Type::kTF32 && to == Type::kF32) return bits;
  double value = to_double(bits, from);
  if (to == Type::kF32 && from != Type::kF64) return std::bit_cast<uint32_t>(static_cast<float>(value));
  return from_double(value, to, rounding, overflow);
}

uint64_t float_to_int(uint64_t bits, Type from, Type to, bool is_signed) {
  double value = to_double(bits, from);
  int width = std::max(16, width_of(to));  // the width of the cvt
  uint64_t result;
  if (std::isnan(value)) {
    result = from == Type::kF64 || width == 64 ? uint64_t{1} << (width - 1) : 0;
  } else if (is_signed) {
    double bound = std::ldexp(1.0, width - 1);
    int64_t high = static_cast<int64_t>(low_bits(width - 1));
    result = static_cast<uint64_t>(value >= bound   ? high
                                   : value < -bound ? -high - 1
                                                    : static_cast<int64_t>(value));
  } else {
    double bound = std::ldexp(1.0, width);
    result = value >= bound ? low_bits(width) : value <= 0 ? 0 : static_cast<uint64_t>(value);
  }
  return truncate_bits(result, to);
}

uint64_t int_to_float(uint64_t bits, Type from, bool is_signed, Type to) {
  uint64_t value = is_signed ? static_cast<uint64_t>(sign_extend(bits, from)) : truncate_bits(bits, from);
  bool negative = is_signed && static_cast<int64_t>(value) < 0;
  uint64_t magnitude = negative ? 0 - value : value;
  if (to == Type::kF64) {
    double exact = static_cast<double>(magnitude);
    return std::bit_cast<uint64_t>(negative ? -exact : exact);
  }
  // Round to odd at 53 bits first: every other type has so few bits that the second rounding is then the only
  // one.
  if (magnitude >> 53) magnitude = (magnitude & ~uint64_t{0x7ff}) | ((magnitude & 0x7ff) != 0 ? 0x800 : 0);
  double odd = static_cast<double>(magnitude);
  return from_double(negative ? -odd : odd, to);
}

int64_t sign_extend(uint64_t bits, Type type) {
  int shift = 64 - width_of(type);
  return static_cast<int64_t>(bits << shift) >> shift;
}

uint64_t truncate_bits(uint64_t bits, Type type) { return bits & low_bits(width_of(type)); }

uint64_t load_bits(const void* element, Type type) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, size_of(type));
  return bits;
}

void store_bits(void* element, Type type, uint64_t bits) { std::memcpy(element, &bits, size_of(type)); }

}  // namespace triton_runner::num
