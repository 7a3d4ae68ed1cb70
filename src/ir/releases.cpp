// Expands releases.def into the tables of releases and of other distributions: a release starts as the one
// before it, a distribution as the release that it left.
#include <triton_runner/ir/releases.h>

#include <algorithm>
#include <array>

namespace triton_runner::ir {
namespace {

constexpr size_t kCount = 0
#define RELEASE(...) +1
#include <triton_runner/ir/releases.def>
    ;

// The columns are members, so that a row reads `old_keys = 2`.
struct ReleaseRows : ReleaseInfo {
  constexpr std::array<ReleaseInfo, kCount> all() {
    std::array<ReleaseInfo, kCount> rows;
    size_t n = 0;
#define RELEASE(major, minor, text, ...) \
  version = release(major, minor);       \
  patches = text;                        \
  __VA_ARGS__;                           \
  rows[n++] = *this;
#include <triton_runner/ir/releases.def>
    return rows;
  }
};
constexpr std::array<ReleaseInfo, kCount> kReleases = ReleaseRows().all();

constexpr size_t kDistributionCount = 0
#define DISTRIBUTION(...) +1
#include <triton_runner/ir/releases.def>
    ;

constexpr const ReleaseInfo& row_of(Release version) {
  return *std::ranges::find(kReleases, version, &ReleaseInfo::version);
}

struct Distributed : ReleaseInfo {
  constexpr std::array<ReleaseInfo, kDistributionCount> all() {
    std::array<ReleaseInfo, kDistributionCount> rows;
    size_t n = 0;
#define DISTRIBUTION(name_, on_index_, module_, suffix_, major, minor, text, ops_, ...) \
  static_cast<ReleaseInfo&>(*this) = row_of(release(major, minor));                     \
  name = name_, on_index = on_index_, module = module_, suffix = suffix_;               \
  version += kDistributions * static_cast<int>(n + 1), patches = text, ops = ops_;      \
  __VA_ARGS__;                                                                          \
  rows[n++] = *this;
#include <triton_runner/ir/releases.def>
    return rows;
  }
};
constexpr std::array<ReleaseInfo, kDistributionCount> kOthers = Distributed().all();

constexpr bool is_sorted() {
  for (size_t i = 1; i < kCount; ++i)
    if (kReleases[i - 1].version >= kReleases[i].version) return false;
  return true;
}
static_assert(is_sorted(), "the rows of releases.def stand oldest first");

}  // namespace

std::span<const ReleaseInfo> release_table() { return kReleases; }
std::span<const ReleaseInfo> distribution_table() { return kOthers; }

const ReleaseInfo* distribution(Release of) {
  const size_t n = static_cast<size_t>(of / kDistributions);
  return n > 0 && n <= kOthers.size() ? &kOthers[n - 1] : nullptr;
}

std::string spelled(Release of) {
  if (const ReleaseInfo* other = distribution(of)) return std::string(other->name);
  return std::to_string(of / 100) + "." + std::to_string(of % 100);
}

bool ReleaseInfo::lists(std::string_view op, bool dropped) const {
  for (size_t at = 0; at < ops.size();) {
    const size_t end = std::min(ops.find(' ', at), ops.size());
    std::string_view word = ops.substr(at, end - at);
    const bool minus = word.starts_with('-');
    if (minus == dropped && word.substr(minus) == op) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace triton_runner::ir
