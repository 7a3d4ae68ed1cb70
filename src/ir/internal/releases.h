// The releases of Triton as data: the rows of releases.def.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace triton_runner::ir {

// A Triton release as a number that sorts: 310 is 3.10, and comes after 309.
using Release = int;
constexpr Release release(int major, int minor) { return 100 * major + minor; }
std::string spelled(Release of);  // "3.4"
inline constexpr Release kNow = 99'999;
inline constexpr Release kFork = kNow - 1;  // `since` of what only a fork has

struct ReleaseInfo {
  Release version = 0;
  std::string_view patches;  // "3.3.0 3.3.1"
#define COLUMN(type, name, meaning) type name{};
#include <triton_runner/ir/releases.def>
};

std::span<const ReleaseInfo> release_table();  // oldest first

}  // namespace triton_runner::ir
