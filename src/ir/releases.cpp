// The table of releases, expanded from releases.def: each row starts as the one before it.
#include <triton_runner/ir/releases.h>

#include <array>

namespace triton_runner::ir {
namespace {

constexpr size_t kCount = 0
#define RELEASE(...) +1
#include <triton_runner/ir/releases.def>
    ;

// The columns are members, so that a row reads `old_keys = 2`.
struct Row : ReleaseInfo {
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
constexpr std::array<ReleaseInfo, kCount> kTable = Row().all();

constexpr bool is_sorted() {
  for (size_t i = 1; i < kCount; ++i)
    if (kTable[i - 1].version >= kTable[i].version) return false;
  return true;
}
static_assert(is_sorted(), "the rows of releases.def stand oldest first");

}  // namespace

std::span<const ReleaseInfo> release_table() { return kTable; }
std::string spelled(Release of) { return std::to_string(of / 100) + "." + std::to_string(of % 100); }

}  // namespace triton_runner::ir
