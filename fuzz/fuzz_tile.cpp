// Any module that the engine loads: running it ends in a result or a trap, and touches nothing but its one
// array.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <triton_runner/ir/module.h>
#include <triton_runner/tile/tile.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace triton_runner;
  auto module = ir::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.ttir");
  if (!module.ok()) return 0;
  auto shared = std::make_shared<const ir::Module>(std::move(module).value());
  auto kernel = tile::load(shared, "");
  if (!kernel.ok()) return 0;

  constexpr size_t kWords = 4096, kMargin = 256;
  constexpr uint64_t kCanary = 0xA5A5A5A5A5A5A5A5;
  std::vector<uint64_t> words(kWords + 2 * kMargin, kCanary);
  uint64_t* array = words.data() + kMargin;
  for (size_t i = 0; i < kWords; ++i) array[i] = i % 64;
  std::vector<exec::Argument> arguments;
  for (const exec::Param& param : kernel.value()->params()) {
    exec::Argument argument{param.kind, 16, {}};
    if (param.kind == exec::ParamKind::kPointer) argument.bits = reinterpret_cast<uint64_t>(array);
    if (param.kind == exec::ParamKind::kTensorDesc)
      argument.descriptor = exec::TensorDesc{reinterpret_cast<uint64_t>(array), {64, 64}, {64, 1}, false};
    arguments.push_back(argument);
  }
  exec::Allocation memory{reinterpret_cast<uint64_t>(array), kWords * sizeof(uint64_t), "the array", true};
  exec::LaunchOptions options;
  options.grid = {2, 1, 1};
  options.threads = 1;
  options.timeout_seconds = 0.2;
  if (auto error = kernel.value()->launch(options, arguments, std::span(&memory, 1))) (void)error->str();

  for (size_t i = 0; i < words.size(); ++i) {
    bool inside = i >= kMargin && i < kMargin + kWords;
    if (!inside && words[i] != kCanary) {
      std::fprintf(stderr, "fuzz_tile: the kernel wrote outside its array\n");
      std::abort();
    }
  }
  return 0;
}
