// Any PTX that the SIMT engine loads: running it ends in a result or a located trap, within its limits of
// steps and memory, and touches nothing but its arrays. Run again with the portable kernels it gives the same
// bits. What does not parse or load says why; what parses prints back, and again from the graph.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/num/types.h>
#include <triton_runner/ptx/module.h>
#include <triton_runner/simt/simt.h>

#include "launch.h"

namespace {

using namespace triton_runner;
using fuzz::Arrays;
using fuzz::limited;
using fuzz::require;
using fuzz::run;

// The text itself, and the one written from the graph, mean the same.
void check_printing(const ptx::Module& module, const std::string& text) {
  require(module.text() == text, "a module that does not print back its text");
  std::string printed = ptx::print_canonical(module);
  auto again = ptx::parse(printed, "canonical");
  require(again.ok(), "the canonical text does not parse: " + (again ? "" : again.error().str()) + printed);
  require(ptx::print_canonical(**again) == printed, "the canonical text of the canonical text differs");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  text.resize(std::min(text.size(), text.find("// ---- expected")));  // a golden case's output is no PTX
  auto module = ptx::parse(text, "fuzz.ptx");
  if (!module) {
    require(!module.error().str().empty(), "parsing failed without a word");
    return 0;
  }
  check_printing(**module, text);
  const uint64_t choice = std::hash<std::string_view>()(text);
  simt::LoadOptions load;
  load.block = {(choice >> 62 & 1) ? 64u : 32u, 1, 1};
  auto kernel = simt::load(*module, "", load);
  num::force_isa("portable");
  auto again = simt::load(*module, "", load);
  num::force_isa("");
  require(kernel.ok() == again.ok(), "loads only one way");
  if (!kernel) {
    require(!kernel.error().str().empty(), "load failed without a word");
    return 0;
  }
  // Both runs at the same addresses, which may be part of the result.
  Arrays arrays((*kernel)->params().size());
  exec::LaunchResult result = run(**kernel, arrays, choice);
  const Arrays first = arrays;
  arrays.reset();
  num::force_isa("portable");
  exec::LaunchResult repeated = run(**again, arrays, choice);
  num::force_isa("");
  if (limited(result) || limited(repeated)) return 0;
  if (result.has_value() != repeated.has_value())
    require(false, "portable kernels" + (result ? " lose: " + result->str() : " bring: " + repeated->str()));
  if (!result) {
    std::string where = first.first_difference(arrays);
    require(where.empty(), "portable kernels: another result in " + where);
  }
  return 0;
}
