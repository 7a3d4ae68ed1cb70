// Calls a function with the integer type of a given number of bytes, so that code for each width is written
// once: by_size(4, f) calls f with uint32_t.
#pragma once
#include <cstddef>
#include <cstdint>

namespace triton_runner::num {

// f of a zero of the unsigned type that has so many bytes: 1, 2, 4, and 8 for any other number.
template <class F>
[[gnu::always_inline]] inline decltype(auto) by_size(size_t bytes, F f) {
  switch (bytes) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

}  // namespace triton_runner::num
