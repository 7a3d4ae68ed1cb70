// Implements the Driver interface for HIP. It is written against HIP 6 and tested against a fake table only:
// nobody has run it on AMD hardware yet.

#include <triton_runner/base/try.h>
#include <triton_runner/device/driver.h>
#include <triton_runner/device/hip_api.h>
#include <atomic>

#include "library.h"

namespace triton_runner::device {

base::Result<HipApi> load_hip_api(const std::string& library) {
  auto handle = TRY(open_library(library, "AMD"));
  HipApi api;
#define X(name, params)                                                          \
  api.name = reinterpret_cast<hip::Error(*) params>(find_symbol(handle, #name)); \
  if (!api.name) return base::failure(library + " lacks " #name, {"HIP 6 (ROCm 6) or newer is needed"});
  TRITON_RUNNER_HIP_API(X)
#undef X
  api.hipDrvLaunchKernelEx =
      reinterpret_cast<decltype(api.hipDrvLaunchKernelEx)>(find_symbol(handle, "hipDrvLaunchKernelEx"));
  api.hipGetErrorName = reinterpret_cast<const char* (*)(hip::Error)>(find_symbol(handle, "hipGetErrorName"));
  api.hipGetErrorString =
      reinterpret_cast<const char* (*)(hip::Error)>(find_symbol(handle, "hipGetErrorString"));
  if (!api.hipGetErrorName || !api.hipGetErrorString)
    return base::failure(library + " lacks hipGetErrorName");
  return api;
}

namespace hip {
namespace {

using LaunchConfig = device::LaunchConfig;

#define CALL(function, ...)                                                     \
  if (Error code_ = api_.function(__VA_ARGS__); code_ != kSuccess) [[unlikely]] \
  return failed(#function, code_)

class HipDriver final : public Driver {
 public:
  explicit HipDriver(const HipApi& api) : api_(api) {}

  std::string_view backend() const override { return "hip"; }

  Result<Properties> properties(int device) override {
    TRY(initialise());
    auto texts = std::make_unique<hip::DeviceProperties>();
    CALL(hipGetDevicePropertiesR0600, texts.get(), device);
    Properties p;
    p.ordinal = device;
    texts->name[sizeof texts->name - 1] = texts->gcn_arch_name[sizeof texts->gcn_arch_name - 1] = '\0';
    p.name = texts->name;
    std::string arch = texts->gcn_arch_name;  // "gfx942:sramecc+:xnack-"
    p.target = "hip:" + arch.substr(0, arch.find(':'));
    int cooperative = 0;
    struct {
      int* to;
      int attribute;
    } wanted[] = {
        {&p.warp_size, kWarpSize},
        {&p.multiprocessors, kMultiprocessorCount},
        {&p.max_threads, kMaxThreadsPerBlock},
        {&p.shared_per_block, kMaxSharedPerBlock},
        {&p.shared_per_multiprocessor, kMaxSharedPerMultiprocessor},
        {&p.registers_per_block, kMaxRegistersPerBlock},
        {&p.l2_bytes, kL2CacheSize},
        {&cooperative, kCooperativeLaunch},
    };
    for (auto& w : wanted) CALL(hipDeviceGetAttribute, w.to, w.attribute, device);
    p.shared_per_block_optin = p.shared_per_block;  // LDS needs no opting in
    p.cooperative = cooperative != 0;
    p.clusters = api_.hipDrvLaunchKernelEx && p.target == "hip:gfx1250";
    return p;
  }

  Result<int> current_device() override {
    TRY(initialise());
    int device = 0;
    CALL(hipGetDevice, &device);
    return device;
  }

  Status use_device(int device) override {
    TRY(initialise());
    CALL(hipSetDevice, device);
    return base::success();
  }

  Status allow_dynamic_shared(Function, int) override { return base::success(); }  // HIP needs no leave
  Status allow_large_clusters(Function) override { return base::success(); }

  Result<int> max_active_clusters(Function, const LaunchConfig&) override {
    return base::failure("HIP launches no thread block clusters");
  }

  Status launch(Function function, const LaunchConfig& config, void** params) override {
    if (config.pdl)
      return base::failure("HIP has no programmatic dependent launch", {"launch without launch_pdl"});
    if (config.cluster != std::array<uint32_t, 3>{1, 1, 1}) return launch_clusters(function, config, params);
    if (config.cooperative) {
      CALL(hipModuleLaunchCooperativeKernel, handle_of(function), config.grid[0], config.grid[1],
           config.grid[2], config.block[0], config.block[1], config.block[2], config.shared_bytes,
           handle_of(config.stream), params);
    } else {
      CALL(hipModuleLaunchKernel, handle_of(function), config.grid[0], config.grid[1], config.grid[2],
           config.block[0], config.block[1], config.block[2], config.shared_bytes, handle_of(config.stream),
           params, nullptr);
    }
    return base::success();
  }

  Result<std::optional<PointerInfo>> pointer(uint64_t address) override {
    PointerAttributes attributes{};
    Error code = api_.hipPointerGetAttributes(&attributes, handle_of(address));
    if (code == kInvalidValue || (code == kSuccess && attributes.type == kMemoryUnregistered))
      return std::optional<PointerInfo>();
    if (code != kSuccess) return failed("hipPointerGetAttributes", code);
    PointerInfo info;
    info.address = value_of(attributes.device_pointer);
    if (attributes.type == kMemoryDevice) info.device = attributes.device;
    return std::optional<PointerInfo>(info);
  }

  Result<TensorMap> encode_tensor_map(const TensorMapSpec&) override {
    return base::failure("HIP has no tensor maps", {"a host-side tensor descriptor travels in pieces there"});
  }

#define API(function) hip##function
#define EITHER(cuda, hip) hip
#include "driver_methods.inc"
  // With the attributes of Triton's own launcher.
  Status launch_clusters(Function function, const LaunchConfig& config, void** params) {
    if (!api_.hipDrvLaunchKernelEx)
      return base::failure("this HIP launches no thread block clusters: it lacks hipDrvLaunchKernelEx");
    hip::LaunchAttribute attributes[2]{};
    attributes[0].id = hip::kLaunchCluster;
    for (size_t i = 0; i < 3; i++) attributes[0].value[i] = static_cast<int32_t>(config.cluster[i]);
    attributes[1].id = hip::kLaunchCooperative;
    attributes[1].value[0] = config.cooperative;
    const hip::LaunchConfig whole{{config.grid[0], config.grid[1], config.grid[2]},
                                  {config.block[0], config.block[1], config.block[2]},
                                  config.shared_bytes,
                                  handle_of(config.stream),
                                  attributes,
                                  2};
    CALL(hipDrvLaunchKernelEx, &whole, handle_of(function), params, nullptr);
    return base::success();
  }

  base::Diagnostic failed(const char* call, Error code) const {
    return call_failed(call, api_.hipGetErrorName(code), api_.hipGetErrorString(code), code);
  }

  HipApi api_;
};

#undef CALL

}  // namespace
}  // namespace hip

std::unique_ptr<Driver> make_hip_driver(const HipApi& api) { return std::make_unique<hip::HipDriver>(api); }

}  // namespace triton_runner::device
