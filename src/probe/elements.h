// Counts the elements of a value, and finds where one of them lies among them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <triton_runner/exec/stopper.h>

namespace triton_runner::probe {

inline int64_t count_of(const exec::Elements& e) {
  int64_t n = 1;
  for (int64_t extent : e.shape) n *= extent;
  return n;
}

// Row-major; none where the index is not one of the shape's.
inline std::optional<int64_t> place_in(const std::vector<int64_t>& index, std::span<const int64_t> shape) {
  if (index.size() != shape.size()) return std::nullopt;
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t i = index[d] < 0 ? index[d] + shape[d] : index[d];
    if (i < 0 || i >= shape[d]) return std::nullopt;
    at = at * shape[d] + i;
  }
  return at;
}

}  // namespace triton_runner::probe
