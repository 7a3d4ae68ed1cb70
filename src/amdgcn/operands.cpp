// Reads registers, constants and literals as LLVM prints them.
#include <bit>
#include <cstdlib>

#include <triton_runner/base/text.h>

#include "decoder.h"

namespace triton_runner::amdgcn {
namespace {

std::string range(std::string_view file, uint32_t first, uint32_t count) {
  const std::string begin = std::to_string(first);
  if (count == 1) return std::string(file) + begin;
  return std::string(file) + "[" + begin + ":" + std::to_string(first + count - 1) + "]";
}

constexpr std::string_view kFloats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};

}  // namespace

std::string Decoder::scalar(uint32_t code, uint32_t count) {
  const bool two = count == 2;
  if (code < (cdna() ? 102u : 106u)) {
    if (code + count > (cdna() ? 102u : 106u)) fail("scalar registers past the last one");
    return range("s", code, count);
  }
  if (cdna() && code == 102 && two) return "flat_scratch";
  if (cdna() && code == 104 && two) return "xnack_mask";
  if (code >= 108 && code < 124) {
    if (code + count > 124) fail("trap registers past the last one");
    return range("ttmp", code - 108, count);
  }
  const uint32_t m0 = cdna() ? 124 : 125;
  if (code == 106 && two) return "vcc";
  if (code == 126 && two) return "exec";
  if (code == m0 && count == 1) return "m0";
  if (code == 124 && !cdna()) return "null";
  if (count == 1) {
    if (code == 106) return "vcc_lo";
    if (code == 107) return "vcc_hi";
    if (code == 126) return "exec_lo";
    if (code == 127) return "exec_hi";
    if (cdna() && code == 102) return "flat_scratch_lo";
    if (cdna() && code == 103) return "flat_scratch_hi";
    if (cdna() && code == 104) return "xnack_mask_lo";
    if (cdna() && code == 105) return "xnack_mask_hi";
  }
  fail("no scalar register has the number " + std::to_string(code) + " as one of " + std::to_string(count));
  return {};
}

std::string Decoder::vector(uint32_t index, const Word& w, int half, bool is_accumulator) {
  if (index + w.count > 256) fail("vector registers past the last one");
  std::string out = range(is_accumulator || w.mark == 'x' ? "a" : "v", index, w.count);
  if (w.is_half && half >= 0) out += half ? ".h" : ".l";
  return out;
}

std::string Decoder::short_vector(uint32_t index, const Word& w) {
  return w.is_half ? vector(index & 0x7f, w, static_cast<int>(index >> 7)) : vector(index, w);
}

std::string Decoder::literal() {
  has_literal_ = true;
  return base::hex(word(words_));
}

// A literal that LLVM prints as the constant that it could have been.
std::string Decoder::small_literal() {
  const std::string text = literal();
  const auto value = static_cast<int32_t>(word(words_));
  if (value >= -16 && value <= 64) return std::to_string(value);
  for (size_t i = 0; i < std::size(kFloats); ++i)
    if (std::bit_cast<float>(value) == std::strtof(kFloats[i].data(), nullptr))
      return std::string(kFloats[i]);
  return text;
}

std::string Decoder::source(uint32_t code, const Word& w, int half, bool is_accumulator) {
  if (w.is_mask) return mask(code);
  if (code >= 256) return vector(code - 256, w, half, is_accumulator);
  if (code < 128) return scalar(code, w.count);
  if (code <= 192) return std::to_string(code - 128);
  if (code <= 208) return std::to_string(192 - static_cast<int>(code));
  switch (code) {
    case 235:
      return "src_shared_base";
    case 236:
      return "src_shared_limit";
    case 237:
      return "src_private_base";
    case 238:
      return "src_private_limit";
    case 248:
      return w.count == 2 && row_->format != Format::VOP3P ? "0.15915494309189532" : "0.15915494";
    case 251:
      if (cdna()) return "src_vccz";
      break;
    case 252:
      if (cdna()) return "src_execz";
      break;
    case 253:
      return "src_scc";
    case 254:
      if (cdna()) return "src_lds_direct";
      break;
    case 255:
      return literal();
    default:
      if (code >= 240 && code < 248) return std::string(kFloats[code - 240]);
  }
  fail("no operand has the number " + std::to_string(code));
  return {};
}

std::string Decoder::negated(std::string operand, bool negative, bool absolute, bool is_constant) const {
  if (absolute) operand = "|" + operand + "|";
  if (!negative) return operand;
  return is_constant && !absolute ? "neg(" + operand + ")" : "-" + operand;
}

}  // namespace triton_runner::amdgcn
