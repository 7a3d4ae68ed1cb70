// numbers_text() writes places as messages do: {1, 2, 3} as "1, 2, 3".
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace triton_runner::exec {

inline std::string numbers_text(std::span<const int64_t> numbers) {
  std::string out;
  for (const int64_t n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return out;
}

}  // namespace triton_runner::exec
