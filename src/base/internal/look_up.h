// look_up() finds the value of a key in a small table of pairs, row by row. A large table of texts is a
// TextMap.
#pragma once
#include <cstddef>
#include <optional>
#include <utility>

namespace triton_runner::base {

// The value of a key; nothing where the table has no such key.
template <class K, class V, size_t n>
constexpr std::optional<V> look_up(const std::pair<K, V> (&rows)[n], const K& key) {
  for (const auto& [known, value] : rows)
    if (known == key) return value;
  return std::nullopt;
}

}  // namespace triton_runner::base
