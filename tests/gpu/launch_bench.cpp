// Measures what a launch costs: the driver's own call beside ours, interleaved, on an empty kernel of 19
// Python arguments (5 tensors, 9 integers, 5 constexprs that are not passed) and on one without any.
// Microseconds a launch, minimum of 60 bursts of 200. Prints a table; needs a GPU.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <triton_runner/device/cuda_api.h>
#include <triton_runner/device/driver.h>
#include <triton_runner/launch/gpu_kernel.h>

using namespace triton_runner;
using exec::ParamKind;

namespace {

std::string empty_kernel(int pointers, int integers) {
  std::string params;
  for (int i = 0; i < pointers + integers + 2; i++) {
    bool pointer = i < pointers || i >= pointers + integers;
    params += std::string(i ? ",\n" : "") + "  .param " + (pointer ? ".u64 .ptr .global .align 1" : ".u32") +
              " k_param_" + std::to_string(i);
  }
  return ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(\n" + params +
         "\n)\n.reqntid 128\n{\n  ret;\n}\n";
}

[[noreturn]] void give_up(const base::Diagnostic& d) {
  std::fputs(d.str().c_str(), stderr);
  std::exit(1);
}
template <class T>
T need(base::Result<T> result) {
  if (!result) give_up(result.error());
  return std::move(result).value();
}

template <class Launch>
double burst(device::Driver& driver, Launch launch) {
  constexpr int kLaunches = 200;
  (void)driver.synchronize(0).ok();
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; i++) launch();
  auto stop = std::chrono::steady_clock::now();
  (void)driver.synchronize(0).ok();
  return std::chrono::duration<double, std::micro>(stop - start).count() / kLaunches;
}

}  // namespace

int main() {
  device::Driver& driver = *need(device::open_driver("cuda"));
  auto api = need(device::load_cuda_api());
  auto properties = need(driver.properties(need(driver.current_device())));
  std::printf(
      "%s, driver %d\n| kernel | cuLaunchKernel | GpuKernel::launch | ratio | unchecked | ratio "
      "|\n|---|---|---|---|---|---|\n",
      properties.name.c_str(), need(driver.driver_version()));
  struct Case {
    const char* name;
    int pointers, integers;
  } cases[] = {{"no argument", 0, 0}, {"19 arguments", 5, 9}};
  for (const Case& c : cases) {
    launch::GpuKernelSpec spec;
    spec.image = empty_kernel(c.pointers, c.integers);
    spec.name = "k";
    spec.level = "ptx";
    spec.target = "cuda:75";
    spec.hidden_pointers = 2;
    std::vector<exec::Argument> args;
    std::vector<exec::Allocation> memory;
    std::vector<uint64_t> words;
    for (int i = 0; i < c.pointers; i++) {
      uint64_t address = need(driver.allocate(4096, 0));
      spec.params.push_back({"p" + std::to_string(i), ParamKind::kPointer, "*fp32"});
      args.push_back({ParamKind::kPointer, address, {}});
      memory.push_back({address, 4096, "p", true});
      words.push_back(address);
    }
    for (int i = 0; i < c.integers; i++) {
      spec.params.push_back({"n" + std::to_string(i), ParamKind::kInteger, "i32", 32});
      args.push_back({ParamKind::kInteger, static_cast<uint64_t>(i + 2), {}});
      words.push_back(i + 2);
    }
    words.push_back(0);
    words.push_back(0);
    std::vector<void*> pointers;
    for (uint64_t& word : words) pointers.push_back(&word);
    device::Module module = need(driver.load_module(spec.image));
    auto function = reinterpret_cast<void*>(need(driver.function(module, "k")));
    auto kernel = need(launch::load(driver, spec));
    exec::LaunchOptions checked, unchecked;
    unchecked.checks = 0;

    double best[3] = {1e9, 1e9, 1e9};
    for (int i = 0; i < 60; i++) {
      best[0] =
          std::min(best[0], burst(driver, [&] {
                     api.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, pointers.data(), nullptr);
                   }));
      best[1] = std::min(best[1], burst(driver, [&] {
                           if (auto error = kernel->launch(checked, args, memory))
                             give_up(*error->diagnostic);
                         }));
      best[2] = std::min(best[2], burst(driver, [&] {
                           if (auto error = kernel->launch(unchecked, args, memory))
                             give_up(*error->diagnostic);
                         }));
    }
    std::printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", c.name, best[0], best[1], best[1] / best[0],
                best[2], best[2] / best[0]);
  }
}
