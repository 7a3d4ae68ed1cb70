// Makes _core.bench: bursts of launches from C++, the least that a launch can cost from anywhere.
#include <chrono>

#include <triton_runner/device/cuda_api.h>
#include <triton_runner/device/driver.h>

#include "bindings.h"

namespace triton_runner::python {
namespace {

using Axes = std::array<uint32_t, 3>;

template <class Launch>
double seconds_each(int launches, const Launch& launch) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; i++)
    if (auto failed = launch()) raise(*failed);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / launches;
}

// cuLaunchKernelEx with parameters that were packed before.
class RawLaunch {
 public:
  RawLaunch(nb::bytes image, const std::string& name, std::vector<uint64_t> words, Axes grid, int threads,
            int shared)
      : api_(unwrap(device::load_cuda_api("libcuda.so.1"))),
        driver_(*unwrap(device::open_driver("cuda"))),
        words_(std::move(words)) {
    if (!api_.cuLaunchKernelEx) fail("this CUDA driver has no cuLaunchKernelEx");
    (void)unwrap(driver_.current_device());
    module_ = unwrap(driver_.load_module({image.c_str(), image.size()}));
    function_ = reinterpret_cast<void*>(unwrap(driver_.function(module_, name)));
    for (uint64_t& word : words_) pointers_.push_back(&word);
    config_ = {
        grid[0], grid[1], grid[2], static_cast<uint32_t>(threads), 1, 1, static_cast<uint32_t>(shared)};
  }
  ~RawLaunch() { (void)driver_.unload_module(module_).ok(); }
  RawLaunch(const RawLaunch&) = delete;
  RawLaunch& operator=(const RawLaunch&) = delete;

  double burst(int launches, uint64_t stream) {
    config_.stream = reinterpret_cast<void*>(stream);
    return seconds_each(launches, [&]() -> std::optional<base::Diagnostic> {
      const int code = api_.cuLaunchKernelEx(&config_, function_, pointers_.data(), nullptr);
      if (code == 0) return std::nullopt;
      return base::failure("cuLaunchKernelEx: error " + std::to_string(code));
    });
  }

 private:
  device::CudaApi api_;
  device::Driver& driver_;
  device::Module module_ = 0;
  void* function_ = nullptr;
  device::cuda::LaunchConfig config_{};
  std::vector<uint64_t> words_;
  std::vector<void*> pointers_;
};

// A kernel of the CPU's engines with arguments that were bound before. memory: (address, bytes) of each
// pointer.
double engine_burst(const std::shared_ptr<exec::Kernel>& kernel, const std::vector<uint64_t>& words,
                    const std::vector<std::pair<uint64_t, uint64_t>>& memory,
                    const std::array<int64_t, 3>& grid, int launches) {
  std::vector<exec::Argument> arguments;
  const auto& params = kernel->params();
  if (words.size() != params.size())
    fail("kernel '" + kernel->name() + "' takes " + std::to_string(params.size()) + " arguments");
  for (size_t i = 0; i < words.size(); i++) arguments.push_back({params[i].kind, words[i], {}});
  std::vector<exec::Allocation> allocations;
  for (auto [address, bytes] : memory) allocations.push_back({address, bytes, "an argument"});
  exec::LaunchOptions options;
  options.grid = grid;
  options.threads = 1;
  return seconds_each(launches, [&]() -> std::optional<base::Diagnostic> {
    auto error = kernel->launch(options, arguments, allocations);
    if (!error) return std::nullopt;
    return base::failure(error->str());
  });
}

}  // namespace

void init_bench(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("bench", "Bursts of launches from C++, for benchmarks.");
  nb::class_<RawLaunch>(m, "RawLaunch", "A CUDA kernel by cuLaunchKernelEx, its parameters packed before.")
      .def(nb::init<nb::bytes, const std::string&, std::vector<uint64_t>, Axes, int, int>(), "image"_a,
           "name"_a, "words"_a, "grid"_a, "threads"_a, "shared"_a, "words: the bits of each parameter.")
      .def("burst", &RawLaunch::burst, "launches"_a, "stream"_a = 0,
           "Seconds of one launch, of so many that are queued one after the other.");
  m.def("engine_burst", &engine_burst, "kernel"_a, "words"_a, "memory"_a, "grid"_a, "launches"_a,
        "Seconds of one launch of a kernel of the CPU on one thread, of so many. words: the bits of each "
        "argument; memory: (address, bytes) of what they point to.");
}

}  // namespace triton_runner::python
