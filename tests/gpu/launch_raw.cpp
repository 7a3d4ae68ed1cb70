// The yardstick of launch_latency.py: bursts of the driver's own call, from C++, with a kernel that somebody else
// has loaded.
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "../../src/device/internal/cuda_api.h"

using namespace triton_runner::device::cuda;

// Microseconds a launch of `count` one after the other; `words` holds the kernel's parameters, 8 bytes each.
extern "C" double raw_burst(void* function, uint64_t* words, int n_words, int threads, void* stream,
                            int count) {
  static auto* const launch = reinterpret_cast<Error (*)(const LaunchConfig*, Handle, void**, void**)>(
      dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuLaunchKernelEx"));
  std::vector<void*> params;
  for (int i = 0; i < n_words; i++) params.push_back(&words[i]);
  LaunchConfig config{1, 1, 1, static_cast<uint32_t>(threads), 1, 1, 0, stream, nullptr, 0};
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; i++)
    if (launch(&config, function, params.data(), nullptr) != kSuccess) return -1;
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / count;
}
