// Measures what deploy::Kernel::launch costs beside the driver's call: nanoseconds, the driver does nothing.
//
//   deploy_bench FOLDER     of examples/deploy/add_kernel.py
//
// Build it: ninja -C build/release deploy_bench
#include <triton_runner/deploy/deploy.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace triton_runner;
using namespace triton_runner::device;

namespace {

class Nothing final : public Driver {
 public:
  std::string_view backend() const override { return "cuda"; }
  Result<int> device_count() override { return 1; }
  Result<int> driver_version() override { return 13000; }
  Result<Properties> properties(int) override {
    Properties p;
    p.target = "cuda:90", p.warp_size = 32, p.max_threads = 1024, p.shared_per_block_optin = 232448;
    return p;
  }
  Result<int> current_device() override { return 0; }
  Status use_device(int) override { return base::success(); }
  Result<Module> load_module(std::string_view) override { return Module{1}; }
  Status unload_module(Module) override { return base::success(); }
  Result<Function> function(Module, const std::string&) override { return Function{1}; }
  Result<Resources> resources(Function) override {
    Resources r;
    r.max_threads = 1024;
    return r;
  }
  Status allow_dynamic_shared(Function, int) override { return base::success(); }
  Status allow_large_clusters(Function) override { return base::success(); }
  Result<int> occupancy(Function, int, int) override { return 1; }
  Result<int> max_active_clusters(Function, const LaunchConfig&) override { return 1; }
  Status launch(Function, const LaunchConfig&, void**) override { return base::success(); }
  Result<uint64_t> allocate(size_t, Stream) override { return uint64_t{4096}; }
  Status release(uint64_t, Stream) override { return base::success(); }
  Status fill_zero(uint64_t, size_t, Stream) override { return base::success(); }
  Status copy_to_device(uint64_t, const void*, size_t) override { return base::success(); }
  Status copy_to_host(void*, uint64_t, size_t) override { return base::success(); }
  Status synchronize(Stream) override { return base::success(); }
  Result<std::optional<PointerInfo>> pointer(uint64_t address) override {
    return std::optional<PointerInfo>(PointerInfo{0, address});
  }
  Result<TensorMap> encode_tensor_map(const TensorMapSpec&) override { return TensorMap{}; }
};

int fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kBursts = 50, kLaunches = 10000;
  if (argc != 2) return fail("usage: deploy_bench FOLDER");
  Nothing driver;
  auto package = deploy::Package::open(argv[1]);
  if (!package) return fail(package.error().str());
  auto device = deploy::Device::gpu(driver);
  if (!device) return fail(device.error().str());
  auto add = package->kernel("add_kernel", *device);
  if (!add) return fail(add.error().str());
  auto* memory = reinterpret_cast<float*>(0x1000);
  for (const bool checked : {true, false})
    for (const bool named : {true, false}) {
      const deploy::LaunchOptions options{.check_pointers = checked};
      double least = 1e9;
      for (int burst = 0; burst < kBursts; burst++) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < kLaunches; i++) {
          auto error =
              named ? add->launch({1}, {{"x_ptr", memory}, {"y_ptr", memory}, {"out_ptr", memory}, {"n", 64}},
                                  options)
                    : add->launch({1}, {memory, memory, memory, 64}, options);
          if (error) return fail(error->str());
        }
        const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
        least = std::min(least, taken.count() / kLaunches);
      }
      std::printf("%zu variants, arguments %s, pointers %s: %.0f ns\n", add->variants().size(),
                  named ? "by name" : "in order", checked ? "checked" : "not checked", least);
    }
}
