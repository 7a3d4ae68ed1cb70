// Parsers and messages ask these small questions of text: is this a digit, which number stands here, what is
// left without the blanks.
#pragma once
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace triton_runner::base {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The text without spaces, tabs and carriage returns at its ends.
inline std::string_view trimmed(std::string_view s) {
  const size_t from = s.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return s.substr(from, s.find_last_not_of(" \t\r") - from + 1);
}

// Removes the prefix, if the text begins with it.
inline bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Removes a number in front of the text, in base 10 or, after 0x, 16; false if there is none.
inline bool take_number(std::string_view& text, int64_t* out) {
  std::string_view rest = text;
  const bool negative = take(rest, "-");
  const int base = take(rest, "0x") ? 16 : 10;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
  if (error != std::errc() || end == rest.data()) return false;
  *out = static_cast<int64_t>(negative ? 0 - value : value);
  text = rest.substr(static_cast<size_t>(end - rest.data()));
  return true;
}

// An address: 0x1f.
inline std::string hex(uint64_t value) {
  std::string out;
  do out.insert(out.begin(), "0123456789abcdef"[value & 15]);
  while (value >>= 4);
  return "0x" + out;
}

}  // namespace triton_runner::base
