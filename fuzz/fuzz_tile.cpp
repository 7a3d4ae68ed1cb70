// Any module that the engine loads: running it ends in a result or a located trap, within its limits of steps
// and memory, and touches nothing but its arrays. Run again with the portable kernels, or without fused
// ops, it gives the same bits.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/ir/module.h>
#include <triton_runner/tile/tile.h>

#include "launch.h"

namespace {

using namespace triton_runner;

using fuzz::Arrays;
using fuzz::limited;
using fuzz::require;

struct Outcome {
  Arrays arrays;
  exec::LaunchResult result;
};

// A step is a whole tile's product or sort: with sanitizers 20,000 may take longer than 10 s, and the limit then ends
// the run. Who calls this target stops it where that does not.
Outcome run(exec::Kernel& kernel, uint64_t choice) {
  Outcome out{Arrays(kernel.params().size()), {}};
  exec::LaunchOptions options;
  options.max_tile_bytes = 16 << 20;
  out.result = fuzz::launch(kernel, out.arrays, choice, options);
  return out;
}

// A product of more than 2^26 multiply-adds is one step, and takes the portable kernels a minute with
// sanitizers: longer than an input may. Elements of A, B and the sums multiplied are their number squared.
bool has_large_product(const ir::Region& region) {
  constexpr double kMost = 0x1p52;
  for (const ir::Block* block = region.first; block; block = block->next)
    for (const ir::Op* op = block->first; op; op = op->next) {
      for (const ir::Region* inner : op->regions)
        if (has_large_product(*inner)) return true;
      if ((op->name.find("dot") == op->name.npos && op->name.find("mma") == op->name.npos) ||
          op->num_operands() < 3)
        continue;
      double elements = 1;
      for (uint32_t i = 0; i < 3; ++i) elements *= static_cast<double>(op->operand(i)->type->num_elements());
      if (elements > kMost) return true;
    }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  auto module = ir::parse(text, "fuzz.ttir");
  if (!module.ok()) return 0;
  for (const ir::Op* function : module.value().functions())
    for (const ir::Region* body : function->regions)
      if (has_large_product(*body)) return 0;
  auto shared = std::make_shared<const ir::Module>(std::move(module).value());
  // The two runs differ only in how they are executed.
  const uint64_t choice = std::hash<std::string_view>()(text);
  const bool portable = choice >> 60 & 1;
  auto kernel = tile::load(shared, "");
  if (portable) tile::force_isa("portable");
  auto again = tile::load(shared, "", {.fuse = portable});
  tile::force_isa("");
  require(kernel.ok() == again.ok(), "loads only one way");
  if (!kernel.ok()) {
    require(!kernel.error().str().empty(), "load failed without a word");
    return 0;
  }
  Outcome first = run(**kernel, choice);
  if (portable) tile::force_isa("portable");
  Outcome second = run(**again, choice);
  tile::force_isa("");
  if (limited(first.result) || limited(second.result)) return 0;
  const std::string how = portable ? "portable kernels" : "no fused ops";
  if (first.result.has_value() != second.result.has_value())
    require(false,
            how + (first.result ? " lose: " + first.result->str() : " bring: " + second.result->str()));
  if (!first.result && !second.result) {
    std::string where = first.arrays.first_difference(second.arrays);
    require(where.empty(), how + ": another result in " + where);
  }
  return 0;
}
