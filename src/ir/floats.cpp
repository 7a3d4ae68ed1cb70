// Converts floats of every format that Triton's IR names between bits, doubles and MLIR's decimal spelling.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "impl.h"

namespace triton_runner::ir {
namespace {

struct FloatRow {
  std::string_view name;
  FloatKind kind;
  int width;
  FloatFormat format;
};
constexpr FloatRow kRows[] = {
    {"f16", FloatKind::kF16, 16, {5, 10, 15, true, false}},
    {"bf16", FloatKind::kBF16, 16, {8, 7, 127, true, false}},
    {"f32", FloatKind::kF32, 32, {8, 23, 127, true, false}},
    {"f64", FloatKind::kF64, 64, {11, 52, 1023, true, false}},
    {"tf32", FloatKind::kTF32, 19, {8, 10, 127, true, false}},
    {"f8E4M3FN", FloatKind::kF8E4M3FN, 8, {4, 3, 7, false, false}},
    {"f8E5M2", FloatKind::kF8E5M2, 8, {5, 2, 15, true, false}},
    {"f8E4M3FNUZ", FloatKind::kF8E4M3FNUZ, 8, {4, 3, 8, false, true}},
    {"f8E5M2FNUZ", FloatKind::kF8E5M2FNUZ, 8, {5, 2, 16, false, true}},
    {"f8E4M3B11FNUZ", FloatKind::kF8E4M3B11FNUZ, 8, {4, 3, 11, false, true}},
    {"f8E8M0FNU", FloatKind::kF8E8M0FNU, 8, {8, 0, 127, false, false}},
    {"f6E2M3FN", FloatKind::kF6E2M3FN, 6, {2, 3, 1, false, false}},
    {"f6E3M2FN", FloatKind::kF6E3M2FN, 6, {3, 2, 3, false, false}},
    {"f4E2M1FN", FloatKind::kF4E2M1FN, 4, {2, 1, 1, false, false}},
    {"f8E4M3", FloatKind::kF8E4M3, 8, {4, 3, 7, true, false}},
    {"f8E3M4", FloatKind::kF8E3M4, 8, {3, 4, 3, true, false}},
    {"f80", FloatKind::kF80, 80, {15, 63, 16383, true, false}},
    {"f128", FloatKind::kF128, 128, {15, 112, 16383, true, false}},
};
const FloatRow& row(FloatKind kind) {
  for (const FloatRow& r : kRows)
    if (r.kind == kind) return r;
  return kRows[2];
}

// The bits of the largest finite value, without sign.
uint64_t largest(FloatKind kind, const FloatFormat& f) {
  uint64_t exponents = (uint64_t{1} << f.exponent_bits) - 1, mantissas = (uint64_t{1} << f.mantissa_bits) - 1;
  if (f.has_inf) return ((exponents - 1) << f.mantissa_bits) | mantissas;
  if (f.fnuz || kind == FloatKind::kF6E2M3FN || kind == FloatKind::kF6E3M2FN || kind == FloatKind::kF4E2M1FN)
    return (exponents << f.mantissa_bits) | mantissas;
  if (kind == FloatKind::kF8E8M0FNU) return exponents - 1;
  return (exponents << f.mantissa_bits) | (mantissas - 1);  // f8E4M3FN: all ones is NaN
}

uint64_t nan_bits(FloatKind kind, const FloatFormat& f) {
  if (f.has_inf)
    return (((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits) |
           (uint64_t{1} << (f.mantissa_bits - 1));
  if (f.fnuz) return uint64_t{1} << (f.exponent_bits + f.mantissa_bits);
  if (kind == FloatKind::kF8E4M3FN) return 0x7F;
  if (kind == FloatKind::kF8E8M0FNU) return 0xFF;
  return 0;
}

// A natural number of any size, least significant word first: enough to write 2^k and 5^k exactly.
class Natural {
 public:
  explicit Natural(uint64_t value)
      : words_{static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)} {
    trim();
  }
  bool zero() const { return words_.empty(); }
  void multiply(uint32_t by) {
    uint64_t carry = 0;
    for (uint32_t& w : words_) {
      carry += uint64_t{w} * by;
      w = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry) words_.push_back(static_cast<uint32_t>(carry));
  }
  uint32_t divide(uint32_t by) {  // gives the remainder
    uint64_t rest = 0;
    for (size_t i = words_.size(); i-- > 0;) {
      rest = rest << 32 | words_[i];
      words_[i] = static_cast<uint32_t>(rest / by);
      rest %= by;
    }
    trim();
    return static_cast<uint32_t>(rest);
  }
  int bits() const {
    if (words_.empty()) return 0;
    return static_cast<int>(words_.size()) * 32 - __builtin_clz(words_.back());
  }

 private:
  void trim() {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
  }
  std::vector<uint32_t> words_;
};

// |value| in `precision` significant decimal digits without trailing zeros, as LLVM cuts them: surplus powers
// of ten are dropped before the last digit is rounded (half up).
struct Decimal {
  std::string digits;
  int exponent;  // of the last digit
};
Decimal decimal(double value, int precision) {
  int exponent;
  double fraction = std::frexp(std::fabs(value), &exponent);
  uint64_t mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
  exponent -= 53;
  for (; mantissa && !(mantissa & 1); mantissa >>= 1) ++exponent;
  Natural n(mantissa);
  for (int i = 0; i < exponent; ++i) n.multiply(2);
  for (int i = 0; i > exponent; --i) n.multiply(5);
  Decimal d;
  d.exponent = exponent < 0 ? exponent : 0;
  int surplus = n.bits() - (precision * 196 + 58) / 59;
  for (int tens = surplus > 0 ? surplus * 59 / 196 : 0; tens > 0; --tens) {
    n.divide(10);
    ++d.exponent;
  }
  std::string reversed;
  while (!n.zero()) {
    uint32_t digit = n.divide(10);
    if (reversed.empty() && digit == 0)
      ++d.exponent;
    else
      reversed += static_cast<char>('0' + digit);
  }
  size_t count = reversed.size();
  if (count > static_cast<size_t>(precision)) {
    size_t first = count - static_cast<size_t>(precision);
    if (reversed[first - 1] < '5') {
      while (first < count && reversed[first] == '0') ++first;
    } else {
      while (first < count && reversed[first] == '9') ++first;
      if (first < count)
        ++reversed[first];
      else
        reversed += '1';  // carried through all of them
    }
    d.exponent += static_cast<int>(first);
    reversed.erase(0, first);
  }
  d.digits.assign(reversed.rbegin(), reversed.rend());
  return d;
}

}  // namespace

const FloatFormat& float_format(FloatKind kind) { return row(kind).format; }
int float_width(FloatKind kind) { return row(kind).width; }
std::string_view float_name(FloatKind kind) { return row(kind).name; }

bool float_kind(std::string_view name, FloatKind& kind) {
  for (const FloatRow& r : kRows)
    if (r.name == name) return kind = r.kind, true;
  return false;
}

uint64_t float_bits(FloatKind kind, double value) {
  if (kind == FloatKind::kF64 || kind == FloatKind::kF80 || kind == FloatKind::kF128) {
    uint64_t bits;
    std::memcpy(&bits, &value, 8);
    return bits;
  }
  const FloatFormat& f = float_format(kind);
  uint64_t sign = std::signbit(value) ? uint64_t{1} << (f.exponent_bits + f.mantissa_bits) : 0;
  if (kind == FloatKind::kF8E8M0FNU) sign = 0;
  if (std::isnan(value)) return nan_bits(kind, f) | (f.fnuz ? 0 : sign);
  double magnitude = std::fabs(value);
  uint64_t limit = largest(kind, f);
  uint64_t bits = 0;
  if (magnitude != 0 && !std::isinf(magnitude)) {
    int exponent;
    std::frexp(magnitude, &exponent);
    --exponent;  // magnitude = 1.x * 2^exponent
    int lowest = 1 - f.bias;
    if (kind == FloatKind::kF8E8M0FNU) lowest = -f.bias;
    if (exponent < lowest) exponent = lowest;  // subnormal
    double scaled = std::ldexp(magnitude, f.mantissa_bits - exponent);
    double rounded = std::nearbyint(scaled);  // ties to even in the default mode
    uint64_t units = static_cast<uint64_t>(rounded);
    if (kind == FloatKind::kF8E8M0FNU) {
      bits = static_cast<uint64_t>(exponent + f.bias) + (units > 1);
    } else {
      // A carry out of the mantissa raises the exponent by itself.
      bits = (static_cast<uint64_t>(exponent + f.bias) << f.mantissa_bits) + units -
             (uint64_t{1} << f.mantissa_bits);
    }
  }
  if (std::isinf(magnitude) || bits > limit) {
    if (f.has_inf)
      bits = ((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
    else
      return nan_bits(kind, f) ? nan_bits(kind, f) | (f.fnuz ? 0 : sign) : limit | sign;
  }
  if (f.fnuz && bits == 0) return 0;
  return bits | sign;
}

double float_value(FloatKind kind, uint64_t bits) {
  if (kind == FloatKind::kF64 || kind == FloatKind::kF80 || kind == FloatKind::kF128) {
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
  }
  const FloatFormat& f = float_format(kind);
  uint64_t mantissa = bits & ((uint64_t{1} << f.mantissa_bits) - 1);
  uint64_t exponent = (bits >> f.mantissa_bits) & ((uint64_t{1} << f.exponent_bits) - 1);
  bool negative = kind != FloatKind::kF8E8M0FNU && ((bits >> (f.mantissa_bits + f.exponent_bits)) & 1);
  if (!is_finite(kind, bits)) {
    bool inf = f.has_inf && mantissa == 0;
    double special = inf ? HUGE_VAL : std::nan("");
    return negative ? -special : special;
  }
  if (kind == FloatKind::kF8E8M0FNU) return std::ldexp(1.0, static_cast<int>(exponent) - f.bias);
  double value = exponent == 0 ? std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits)
                               : std::ldexp(static_cast<double>(mantissa | (uint64_t{1} << f.mantissa_bits)),
                                            static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  return negative ? -value : value;
}

bool is_finite(FloatKind kind, uint64_t bits) {
  if (kind == FloatKind::kF64 || kind == FloatKind::kF80 || kind == FloatKind::kF128)
    return ((bits >> 52) & 0x7FF) != 0x7FF;
  const FloatFormat& f = float_format(kind);
  uint64_t magnitude = bits & ((uint64_t{1} << (f.exponent_bits + f.mantissa_bits)) - 1);
  if (f.fnuz) return bits != uint64_t{1} << (f.exponent_bits + f.mantissa_bits);
  return magnitude <= largest(kind, f);
}

// MLIR: six digits in scientific form where that is exact,
// else as many digits as the format has, else the bits.
std::string print_float(FloatKind kind, uint64_t bits) {
  if (is_finite(kind, bits)) {
    double value = float_value(kind, bits);
    const char* sign = std::signbit(value) ? "-" : "";
    Decimal d = decimal(value, 6);
    char exponent_text[16];
    if (value == 0) {
      return std::string(sign) + "0.000000e+00";
    }
    int exponent = d.exponent + static_cast<int>(d.digits.size()) - 1;
    std::snprintf(exponent_text, sizeof exponent_text, "e%c%02d", exponent < 0 ? '-' : '+',
                  std::abs(exponent));
    std::string text = sign + d.digits.substr(0, 1) + "." + d.digits.substr(1);
    text.append(6 - (d.digits.size() - 1), '0');
    text += exponent_text;
    if (float_bits(kind, std::strtod(text.c_str(), nullptr)) == bits) return text;

    int precision = 2 + float_format(kind).precision() * 59 / 196;
    d = decimal(value, precision);
    int count = static_cast<int>(d.digits.size());
    bool scientific;
    if (d.exponent >= 0) {
      scientific = d.exponent > 3 || count + d.exponent > precision;
    } else {
      int top = d.exponent + count - 1;
      scientific = top < 0 && -top > 3;
    }
    text = sign;
    if (scientific) {
      exponent = d.exponent + count - 1;
      text += d.digits.substr(0, 1) + "." + (count == 1 ? "0" : d.digits.substr(1));
      text += std::string("E") + (exponent < 0 ? "-" : "+") + std::to_string(std::abs(exponent));
    } else if (d.exponent >= 0) {
      text += d.digits + std::string(static_cast<size_t>(d.exponent), '0');
    } else if (int whole = count + d.exponent; whole > 0) {
      text +=
          d.digits.substr(0, static_cast<size_t>(whole)) + "." + d.digits.substr(static_cast<size_t>(whole));
    } else {
      text += "0." + std::string(static_cast<size_t>(-whole), '0') + d.digits;
    }
    if (text.find('.') != std::string::npos) return text;
  }
  char hex[32];
  std::snprintf(hex, sizeof hex, "0x%llX", static_cast<unsigned long long>(bits));
  return hex;
}

}  // namespace triton_runner::ir
