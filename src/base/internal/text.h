// Small questions about text that every parser and every message has.
#pragma once
#include <cstdint>
#include <string>

namespace triton_runner::base {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// An address: 0x1f.
inline std::string hex(uint64_t value) {
  std::string out;
  do out.insert(out.begin(), "0123456789abcdef"[value & 15]);
  while (value >>= 4);
  return "0x" + out;
}

}  // namespace triton_runner::base
