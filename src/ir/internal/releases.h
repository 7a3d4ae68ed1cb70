// Gives the rows of releases.def as data: the releases of Triton, and the builds that others publish.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace triton_runner::ir {

// A Triton release as a number that sorts: 310 is 3.10, and comes after 309. The distributions of others have the numbers
// above those: 100307 is the first row of them, which left 3.7.
using Release = int;
constexpr Release release(int major, int minor) { return 100 * major + minor; }
std::string spelled(Release of);  // "3.4", "fbtriton"
inline constexpr Release kNow = 99'999;
inline constexpr Release kFork = kNow - 1;  // `since` of what only a fork has
inline constexpr Release kDistributions = 100'000;
constexpr Release left(Release of) {
  return of % kDistributions;
}  // the release itself, or the one that was left

struct ReleaseInfo {
  Release version = 0;
  std::string_view patches;  // "3.3.0 3.3.1"
  // The rest of a row of DISTRIBUTION; a release is the package and the module `triton`.
  std::string_view name, on_index = "triton", module = "triton", suffix, ops;
#define COLUMN(type, name, meaning) type name{};
#include <triton_runner/ir/releases.def>

  // Returns whether the distribution's `ops` has the name, or "-name".
  bool adds(std::string_view op) const { return lists(op, false); }
  bool drops(std::string_view op) const { return lists(op, true); }

 private:
  bool lists(std::string_view op, bool dropped) const;
};

std::span<const ReleaseInfo> release_table();       // oldest first
std::span<const ReleaseInfo> distribution_table();  // in the order of the rows
const ReleaseInfo* distribution(Release of);        // null: a release

}  // namespace triton_runner::ir
