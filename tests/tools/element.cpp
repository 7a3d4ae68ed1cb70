// Converts elements of each type to double and back.
#include "element.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace triton_runner::cases {
namespace {

constexpr Element kElements[] = {
    {"i1", 1, false, false},
    {"i8", 1, false, true},
    {"i16", 2, false, true},
    {"i32", 4, false, true},
    {"i64", 8, false, true},
    {"u8", 1, false, false},
    {"u16", 2, false, false},
    {"u32", 4, false, false},
    {"u64", 8, false, false},
    {"x8", 1, false, false},
    {"x16", 2, false, false},
    {"x32", 4, false, false},
    {"x64", 8, false, false},
    {"f16", 2, true, true, 5, 10, 15},
    {"bf16", 2, true, true, 8, 7, 127},
    {"f32", 4, true, true, 8, 23, 127},
    {"f64", 8, true, true, 11, 52, 1023},
    {"f8E5M2", 1, true, true, 5, 2, 15},
    {"f8E4M3FN", 1, true, true, 4, 3, 7, Element::kNoInf},
    {"f8E5M2FNUZ", 1, true, true, 5, 2, 16, Element::kUnsignedZero},
    {"f8E4M3FNUZ", 1, true, true, 4, 3, 8, Element::kUnsignedZero},
};

uint64_t ones(int n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }
uint64_t sign_bit(const Element& t) { return 1ull << (t.exponent_bits + t.mantissa_bits); }

// The code of the largest finite value; positive codes up to it are in the order of their values.
uint64_t largest(const Element& t) {
  uint64_t all = sign_bit(t) - 1;
  switch (t.special) {
    case Element::kIeee:
      return all - (1ull << t.mantissa_bits);
    case Element::kNoInf:
      return all - 1;
    case Element::kUnsignedZero:
      return all;
  }
  return all;
}

uint64_t not_a_number(const Element& t) {
  if (t.special == Element::kUnsignedZero) return sign_bit(t);
  if (t.special == Element::kNoInf) return sign_bit(t) - 1;
  return (ones(t.exponent_bits) << t.mantissa_bits) | (1ull << (t.mantissa_bits - 1));
}

}  // namespace

const Element* find_element(std::string_view name) {
  for (const Element& e : kElements)
    if (e.name == name) return &e;
  return nullptr;
}

double decode(const Element& t, uint64_t bits) {
  if (!t.is_float) {
    if (t.is_signed && t.bytes < 8 && (bits >> (8 * t.bytes - 1) & 1)) bits |= ~ones(8 * t.bytes);
    return t.is_signed ? static_cast<double>(static_cast<int64_t>(bits)) : static_cast<double>(bits);
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  double sign = bits & sign_bit(t) ? -1.0 : 1.0;
  uint64_t magnitude = bits & (sign_bit(t) - 1);
  if (t.special == Element::kUnsignedZero && bits == sign_bit(t)) return nan;
  if (magnitude > largest(t)) {
    bool infinite = t.special == Element::kIeee && magnitude == largest(t) + 1;
    return infinite ? sign * std::numeric_limits<double>::infinity() : nan;
  }
  auto exponent = static_cast<int>(magnitude >> t.mantissa_bits);
  auto mantissa = static_cast<double>(magnitude & ones(t.mantissa_bits));
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - t.bias - t.mantissa_bits);
  return sign * std::ldexp(mantissa + std::ldexp(1.0, t.mantissa_bits), exponent - t.bias - t.mantissa_bits);
}

uint64_t encode(const Element& t, double value) {
  if (!t.is_float) {
    uint64_t bits =
        value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
    return t.name == "i1" ? value != 0 : bits & ones(8 * t.bytes);
  }
  if (std::isnan(value)) return not_a_number(t);
  uint64_t sign = std::signbit(value) ? sign_bit(t) : 0;
  double magnitude = std::fabs(value);
  uint64_t low = 0, high = largest(t);
  if (magnitude >= decode(t, high)) {
    double half_step = (decode(t, high) - decode(t, high - 1)) / 2;
    bool overflows = magnitude >= decode(t, high) + half_step;
    if (overflows && t.special == Element::kIeee) return sign | (high + 1);
    return sign | high;
  }
  while (high - low > 1) {  // decode(low) <= magnitude < decode(high)
    uint64_t middle = low + (high - low) / 2;
    (decode(t, middle) <= magnitude ? low : high) = middle;
  }
  double below = magnitude - decode(t, low), above = decode(t, high) - magnitude;
  uint64_t code = below < above || (below == above && low % 2 == 0) ? low : high;
  if (code == 0 && t.special == Element::kUnsignedZero) return 0;
  return sign | code;
}

std::string shown(const Element& t, uint64_t bits, int digits) {
  char text[64];
  if (t.name.starts_with('x')) {
    std::snprintf(text, sizeof text, "0x%0*llx", 2 * t.bytes, static_cast<unsigned long long>(bits));
    return text;
  }
  if (!t.is_float) {
    if (t.is_signed && t.bytes < 8 && (bits >> (8 * t.bytes - 1) & 1)) bits |= ~ones(8 * t.bytes);
    auto end = t.is_signed ? std::to_chars(text, text + sizeof text, static_cast<int64_t>(bits))
                           : std::to_chars(text, text + sizeof text, bits);
    return std::string(text, end.ptr);
  }
  double value = decode(t, bits);
  if (std::isnan(value)) return "nan";  // which of two NaNs an operation gives is no property of the kernel
  auto end = digits > 0 ? std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits)
             : t.bytes == 8 ? std::to_chars(text, text + sizeof text, value)
                            : std::to_chars(text, text + sizeof text, static_cast<float>(value));
  return std::string(text, end.ptr);
}

}  // namespace triton_runner::cases
