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

#include "arrays.h"

namespace {

using namespace triton_runner;

using fuzz::Arrays;
using fuzz::require;
using fuzz::require_place;

struct Outcome {
  Arrays arrays;
  exec::LaunchResult result;
};

Outcome run(exec::Kernel& kernel, uint64_t choice) {
  static const int64_t kIntegers[] = {16, 1, 0, 64, -1, 7, 1024, 3};
  const std::vector<exec::Param>& params = kernel.params();
  Outcome out{Arrays(params.size()), {}};
  std::vector<exec::Argument> arguments;
  std::vector<exec::Allocation> memory;
  for (size_t i = 0; i < params.size(); ++i) {
    exec::Argument argument{params[i].kind, 0, {}};
    if (params[i].kind == exec::ParamKind::kInteger)
      argument.bits = static_cast<uint64_t>(kIntegers[(choice >> (3 * (i % 16))) % 8]);
    if (params[i].kind == exec::ParamKind::kPointer) argument.bits = out.arrays.address(i);
    if (params[i].kind == exec::ParamKind::kTensorDesc)
      argument.descriptor = exec::TensorDesc{out.arrays.address(i), {32, 32}, {32, 1}, false};
    arguments.push_back(argument);
    memory.push_back({out.arrays.address(i), Arrays::kWords * 8, "array " + std::to_string(i), true});
  }
  exec::LaunchOptions options;
  options.grid = {2, 1, 1};
  options.threads = 1;
  options.max_steps = 20000;
  options.max_tile_bytes = 16 << 20;
  options.timeout_seconds = 10;
  out.result = kernel.launch(options, arguments, memory);
  require(out.arrays.intact(), "the kernel wrote outside its arrays");
  if (out.result) {
    require(!out.result->str().empty(), "an error without text");
    if (out.result->trap) {
      const exec::Trap& trap = *out.result->trap;
      require_place(trap);
      // A step is a whole tile's product or sort: with sanitizers 20,000 may take longer than 10 s, and the
      // limit then ends the run. Who calls this target stops it where that does not.
    }
  }
  return out;
}

bool limited(const Outcome& o) {
  if (!o.result || !o.result->trap) return false;
  exec::TrapKind kind = o.result->trap->kind;
  return kind == exec::TrapKind::kTimeout || kind == exec::TrapKind::kOutOfMemory;
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
  // What differs between the two runs is only how they are executed.
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
  if (limited(first) || limited(second)) return 0;
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
