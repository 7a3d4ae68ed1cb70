// Makes _core.ir.releases: the rows of releases.def.
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
  nb::class_<ir::ReleaseInfo> row(
      m, "ReleaseInfo", "A row of releases.def: a minor release of Triton, or a build that others publish.");
  row.def_prop_ro(
      "version",
      [](const ir::ReleaseInfo& r) {
        return std::pair(ir::left(r.version) / 100, ir::left(r.version) % 100);
      },
      "(3, 4); of a distribution that of the release which it left");
  row.def_prop_ro(
      "patches", [](const ir::ReleaseInfo& r) { return words(r.patches); },
      "what the package index has of it, oldest first");
  row.def_ro("number", &ir::ReleaseInfo::version, "304 of 3.4; above all releases for a distribution");
  row.def_ro("name", &ir::ReleaseInfo::name, "fbtriton; empty for a release");
  row.def_ro("on_index", &ir::ReleaseInfo::on_index, "its name on the package index");
  row.def_ro("module", &ir::ReleaseInfo::module, "the module that programs import");
  row.def_ro("suffix", &ir::ReleaseInfo::suffix, "how its version ends: +fb");
  row.def_prop_ro(
      "ops", [](const ir::ReleaseInfo& r) { return words(r.ops); },
      "the ops that it has and the release that it left has not; -op of one that it dropped");
#define COLUMN(type, name, meaning) row.def_ro(#name, &ir::ReleaseInfo::name, meaning);
#include <triton_runner/ir/releases.def>
  m.def(
      "releases",
      [] {
        const auto table = ir::release_table();
        return std::vector<ir::ReleaseInfo>(table.begin(), table.end());
      },
      "The known releases of Triton, oldest first.");
  m.def(
      "distributions",
      [] {
        const auto table = ir::distribution_table();
        return std::vector<ir::ReleaseInfo>(table.begin(), table.end());
      },
      "The known builds of Triton that others publish.");
}

}  // namespace triton_runner::python
