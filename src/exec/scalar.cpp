// Implements scalar.h: which values a parameter's type takes, and the bits that are passed for them.
#include <triton_runner/exec/scalar.h>

#include <bit>
#include <cmath>

namespace triton_runner::exec {
namespace {

int64_t least(const Param& param) { return -(int64_t{1} << (param.bits - 1)); }
int64_t most(const Param& param) { return (int64_t{1} << param.bits) - 1; }

}  // namespace

num::Type float_type(const Param& param) {
  if (param.bits == 64) return num::Type::kF64;
  if (param.bits == 32) return num::Type::kF32;
  // "bf16", ".bf16", "bfloat16", and LLVM's "bfloat"
  if (param.bits == 16)
    return param.type.find("bf") != std::string::npos ? num::Type::kBF16 : num::Type::kF16;
  return num::parse_type(param.type).value_or(num::Type::kF32);
}

bool takes(const Param& param, uint64_t bits) {
  if (param.kind == ParamKind::kInteger && param.bits < 64) {
    const auto value = static_cast<int64_t>(bits);
    return value >= least(param) && value <= most(param);
  }
  return param.kind != ParamKind::kFloat || float_type(param) != num::Type::kF16 || fits_half(bits);
}

bool fits_half(uint64_t value) {
  const double real = std::bit_cast<double>(value);
  return !std::isfinite(real) || std::abs(real) < 65520;  // which would be rounded to infinity
}

std::string misfit(const Param& param, uint64_t bits) {
  if (param.kind == ParamKind::kInteger)
    return std::to_string(static_cast<int64_t>(bits)) + " does not fit into " + std::to_string(param.bits) +
           " bits (" + std::to_string(least(param)) + " .. " + std::to_string(most(param)) + ")";
  return std::to_string(std::bit_cast<double>(bits)) + " is too large for " + param.type;
}

uint64_t float_bits(num::Type type, uint64_t value) {
  const double real = std::bit_cast<double>(value);
  const uint32_t single = std::bit_cast<uint32_t>(static_cast<float>(real));
  switch (type) {
    case num::Type::kF64:
      return value;
    case num::Type::kF32:
      return single;
    case num::Type::kBF16:  // the f32 is cut off, not rounded
      return single >> 16;
    case num::Type::kF16:
      if (std::isnan(real)) return std::signbit(real) ? 0xfe00 : 0x7e00;
      [[fallthrough]];
    default:
      return num::from_double(real, type);
  }
}

}  // namespace triton_runner::exec
