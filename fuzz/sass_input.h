// Has an input of fuzz_sass: a listing, and the bytes of its cubin.
#pragma once
#include <string_view>
#include <utility>

namespace triton_runner::fuzz {

inline constexpr std::string_view kCubinFollows = "\n---- cubin\n";

// {listing, cubin}
inline std::pair<std::string_view, std::string_view> split_sass(std::string_view input) {
  const size_t at = input.find(kCubinFollows);
  if (at == std::string_view::npos) return {input, {}};
  return {input.substr(0, at), input.substr(at + kCubinFollows.size())};
}

}  // namespace triton_runner::fuzz
