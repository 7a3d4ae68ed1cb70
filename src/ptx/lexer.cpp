// The characters: blanks and comments, names, literals, and what is said of a text that is none of them.
// PTX ISA 4.1 to 4.5.
#include <array>
#include <charconv>

#include "parser.h"

namespace triton_runner::ptx {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<bool, 256> kNameBytes = [] {
  std::array<bool, 256> out{};
  for (int c = '0'; c <= '9'; ++c) out[c] = true;
  for (int c = 'a'; c <= 'z'; ++c) out[c] = out[c - 'a' + 'A'] = true;
  out['_'] = out['$'] = out['%'] = true;
  return out;
}();

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

}  // namespace

void Parser::skip() {
  while (true) {
    while (*p_ == ' ' || *p_ == '\t' || *p_ == '\n' || *p_ == '\r' || *p_ == '\f' || *p_ == '\v') ++p_;
    if (*p_ != '/') return;
    if (p_[1] == '/') {
      const void* line = std::memchr(p_, '\n', static_cast<size_t>(end_ - p_));
      p_ = line ? static_cast<const char*>(line) : end_;
    } else if (p_[1] == '*') {
      const size_t close = std::string_view(p_, static_cast<size_t>(end_ - p_)).find("*/", 2);
      if (close == std::string_view::npos) open_comment_ = p_;
      p_ = close == std::string_view::npos ? end_ : p_ + close + 2;
    } else {
      return;
    }
  }
}

std::string_view Parser::identifier() {
  const char* begin = p_;
  if (is_digit(*p_)) return {};
  while (kNameBytes[static_cast<uint8_t>(*p_)]) ++p_;
  return {begin, static_cast<size_t>(p_ - begin)};
}

std::string_view Parser::name_at(uint32_t offset) const {
  const char* q = start_ + offset;
  while (kNameBytes[static_cast<uint8_t>(*q)] || (*q == '.' && start_[offset] == '%')) ++q;
  return {start_ + offset, static_cast<size_t>(q - start_ - offset)};
}

bool Parser::fail(size_t offset, std::string message, std::vector<std::string> notes) {
  if (open_comment_) {  // it has swallowed what was expected
    offset = static_cast<size_t>(open_comment_ - start_);
    message = "this comment does not end";
    notes.clear();
  }
  error_ = module_.diagnostic(static_cast<uint32_t>(offset), std::move(message), std::move(notes));
  return false;
}

std::string Parser::found() const {
  if (p_ == end_) return "the end of the text";
  const char* q = p_;
  while (kNameBytes[static_cast<uint8_t>(*q)] && q - p_ < 40) ++q;
  if (q > p_) return "'" + std::string(p_, q) + "'";
  const unsigned char c = static_cast<unsigned char>(*p_);
  if (c > ' ' && c < 127) return std::string("'") + *p_ + "'";
  static constexpr char kHex[] = "0123456789abcdef";
  return std::string("byte 0x") + kHex[c >> 4] + kHex[c & 15];
}

bool Parser::fail_here(const std::string& expected) {
  return fail(here(), "expected " + expected + ", found " + found());
}

bool Parser::expect(char c, const char* after) {
  if (take(c)) return true;
  return fail_here(std::string("'") + c + "' after " + after);
}

bool Parser::number(Operand* out) {
  const uint32_t at = here();
  out->offset = at;
  const bool minus = *p_ == '-';
  if (minus) ++p_;
  const char* begin = p_;
  if (!is_digit(*p_)) return fail_here("a number");
  uint64_t value = 0;
  int base = 10;
  if (*p_ == '0') {
    const char kind = p_[1];
    if (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D') {
      out->kind = OperandKind::kFloat;
      out->is_wide = kind == 'd' || kind == 'D';
      const int digits = out->is_wide ? 16 : 8;
      p_ += 2;
      for (int i = 0; i < digits; ++i, ++p_) {
        const int d = digit_value(*p_);
        if (d > 15)
          return fail(at, std::string("a float written as bits is 0") + kind + " and " +
                              std::to_string(digits) + " hexadecimal digits");
        value = value << 4 | static_cast<uint64_t>(d);
      }
      if (kNameBytes[static_cast<uint8_t>(*p_)])
        return fail(at, std::string("a float written as bits is 0") + kind + " and " +
                            std::to_string(digits) + " hexadecimal digits");
      if (minus) value ^= uint64_t{1} << (digits * 4 - 1);
      out->integer = static_cast<int64_t>(value);
      return true;
    }
    if (kind == 'x' || kind == 'X') base = 16, p_ += 2;
    if (kind == 'b' || kind == 'B') base = 2, p_ += 2;
    if (is_digit(kind)) base = 8, p_ += 1;
  }
  const char* digits = p_;
  bool large = false;
  for (int d; (d = digit_value(*p_)) < base; ++p_) {
    large |= value > (UINT64_MAX - static_cast<uint64_t>(d)) / static_cast<uint64_t>(base);
    value = value * static_cast<uint64_t>(base) + static_cast<uint64_t>(d);
  }
  if (base == 10 && ((*p_ == '.' && is_digit(p_[1])) || ((*p_ == 'e' || *p_ == 'E') && p_ > digits))) {
    double d = 0;
    const auto [q, problem] = std::from_chars(begin, end_, d);
    if (problem != std::errc() || kNameBytes[static_cast<uint8_t>(*q)])
      return fail(at, "this is no number that a double holds");
    p_ = q;
    if (minus) d = -d;
    out->kind = OperandKind::kFloat;
    out->is_wide = true;
    std::memcpy(&out->integer, &d, 8);
    return true;
  }
  if (p_ == digits) return fail(at, "a number in base " + std::to_string(base) + " lacks its digits");
  if (*p_ == 'U') ++p_;
  if (kNameBytes[static_cast<uint8_t>(*p_)]) {
    p_ = start_ + at;
    return fail(at, found() + " is no number");
  }
  if (large) return fail(at, "this number has more than 64 bits");
  out->kind = OperandKind::kInteger;
  out->integer = static_cast<int64_t>(minus ? 0 - value : value);
  return true;
}

bool Parser::integer(int64_t* out, const char* of) {
  skip();
  if (*p_ != '-' && !is_digit(*p_)) return fail_here(of);
  Operand value;
  const uint32_t at = here();
  if (!number(&value)) return false;
  if (value.kind != OperandKind::kInteger) return fail(at, std::string("expected ") + of + ", found a float");
  *out = value.integer;
  return true;
}

bool Parser::unsigned_integer(uint64_t* out, const char* of) {
  skip();
  const uint32_t at = here();
  int64_t value;
  if (!integer(&value, of)) return false;
  if (value < 0) return fail(at, std::string(of) + " cannot be negative");
  *out = static_cast<uint64_t>(value);
  return true;
}

bool Parser::string(std::string_view* out) {
  skip();
  if (*p_ != '"') return fail_here("a string");
  const char* begin = ++p_;
  while (p_ < end_ && *p_ != '"' && *p_ != '\n') p_ += *p_ == '\\' && p_[1] != '\n' && p_ + 1 < end_ ? 2 : 1;
  if (p_ == end_ || *p_ != '"')
    return fail(static_cast<size_t>(begin - 1 - start_), "this string does not end");
  *out = {begin, static_cast<size_t>(p_ - begin)};
  ++p_;
  return true;
}

}  // namespace triton_runner::ptx
