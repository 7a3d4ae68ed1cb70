// _core.ir.releases: the rows of releases.def.
#include <triton_runner/ir/releases.h>

#include "bindings.h"

namespace triton_runner::python {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    found.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

}  // namespace

void init_releases(nb::module_& m) {
  nb::class_<ir::ReleaseInfo> row(m, "ReleaseInfo", "A row of releases.def: a minor release of Triton.");
  row.def_prop_ro(
      "version", [](const ir::ReleaseInfo& r) { return std::pair(r.version / 100, r.version % 100); },
      "(3, 4)");
  row.def_prop_ro(
      "patches", [](const ir::ReleaseInfo& r) { return words(r.patches); },
      "what the package index has of it, oldest first");
#define COLUMN(type, name, meaning) row.def_ro(#name, &ir::ReleaseInfo::name, meaning);
#include <triton_runner/ir/releases.def>
  m.def(
      "releases",
      [] {
        const auto table = ir::release_table();
        return std::vector<ir::ReleaseInfo>(table.begin(), table.end());
      },
      "The known releases of Triton, oldest first.");
}

}  // namespace triton_runner::python
