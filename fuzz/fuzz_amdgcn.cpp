// Any text of AMD's machine code: loading it ends in a kernel or in an error with its place; a launch within its limits of steps and
// memory in a result or a trap, with the same bits by the portable functions, and touches nothing but its arrays.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/amdgcn/waits.h>
#include <triton_runner/num/types.h>
#include <triton_runner/simt/simt.h>

#include "launch.h"

using namespace triton_runner;

namespace {

// Returns whether the same code leaves other bytes elsewhere: code that stores the address of its arguments, or of its constants, does.
// Blocks of their sizes are held meanwhile.
bool stores_addresses(const std::string& text, const simt::LoadOptions& load, const fuzz::Arrays& first,
                      fuzz::Arrays& arrays, uint64_t choice) {
  std::vector<std::vector<std::byte>> held;
  for (size_t bytes = 8; bytes <= 4096; bytes += 8) held.emplace_back(bytes);
  const auto elsewhere = simt::load_amdgcn(text, "", load, "fuzz.amdgcn");
  arrays.reset();
  fuzz::run(**elsewhere, arrays, choice);
  return !first.first_difference(arrays).empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  text.resize(std::min(text.size(), text.find("// ---- expected")));
  if (auto module = amdgcn::parse(text, "fuzz.amdgcn"))
    for (const amdgcn::Kernel& k : (*module)->kernels()) amdgcn::missing_waits(**module, k);
  simt::LoadOptions load;
  load.block = {64, 1, 1};
  auto kernel = simt::load_amdgcn(text, "", load, "fuzz.amdgcn");
  num::force_isa("portable");
  auto again = simt::load_amdgcn(text, "", load, "fuzz.amdgcn");
  num::force_isa("");
  fuzz::require(kernel.ok() == again.ok(), "loads only one way");
  if (!kernel) {
    fuzz::require(!kernel.error().str().empty(), "load failed without a word");
    return 0;
  }
  const uint64_t choice = std::hash<std::string_view>()(text);
  fuzz::Arrays arrays((*kernel)->params().size());
  const exec::LaunchResult result = fuzz::run(**kernel, arrays, choice);
  const fuzz::Arrays first = arrays;
  arrays.reset();
  num::force_isa("portable");
  const exec::LaunchResult repeated = fuzz::run(**again, arrays, choice);
  num::force_isa("");
  if (fuzz::limited(result) || fuzz::limited(repeated)) return 0;
  fuzz::require(result.has_value() == repeated.has_value(), "portable functions end otherwise");
  if (result.has_value()) return 0;
  const std::string where = first.first_difference(arrays);
  if (!where.empty() && stores_addresses(text, load, first, arrays, choice)) return 0;
  fuzz::require(where.empty(), "portable functions: another result in " + where);
  return 0;
}
