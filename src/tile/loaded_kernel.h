// load_text() gives tests a kernel of TTIR, and pointer() and memory() its one argument:
//
//   std::vector<int32_t> x(1);
//   exec::Argument args[] = {pointer(x)};
//   exec::Allocation allocations[] = {memory(x)};
//   load_text("module { ... }")->launch(options, args, allocations);
#pragma once
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <triton_runner/tile/tile.h>

namespace triton_runner::tile {

inline std::unique_ptr<exec::Kernel> load_text(std::string text) {
  auto module = ir::parse(std::move(text), "test.ttir");
  auto kernel = module ? tile::load(std::make_shared<ir::Module>(std::move(module).value()))
                       : base::Result<std::unique_ptr<exec::Kernel>>(module.error());
  if (kernel) return std::move(kernel).value();
  fprintf(stderr, "%s\n", kernel.error().str().c_str());
  abort();
}

template <class T>
exec::Argument pointer(std::vector<T>& v) {
  return {exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(v.data()), {}};
}

template <class T>
exec::Allocation memory(std::vector<T>& v, const char* label = "x") {
  return {reinterpret_cast<uint64_t>(v.data()), v.size() * sizeof(T), label, true};
}

}  // namespace triton_runner::tile
