// Implements the Driver interface for CUDA: each method makes the library's calls in order and checks every
// result. Methods that HIP has alike are in driver_methods.inc.
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include <triton_runner/base/try.h>
#include <triton_runner/device/cuda_api.h>
#include <triton_runner/device/driver.h>

#include "library.h"
#include "tensor_map.h"

namespace triton_runner::device {

base::Result<CudaApi> load_cuda_api(const std::string& library) {
  auto handle = TRY(open_library(library, "NVIDIA"));
  CudaApi api;
#define X(name, params, needed)                                                   \
  api.name = reinterpret_cast<cuda::Error(*) params>(find_symbol(handle, #name)); \
  if (needed && !api.name)                                                        \
    return base::failure(library + " lacks " #name, {"CUDA 11.2 or newer is "     \
                                                     "needed"});
  TRITON_RUNNER_CUDA_API(X)
#undef X
  return api;
}

namespace cuda {
namespace {

// Returns from the enclosing function with the diagnostic when the call fails.
#define CALL(function, ...)                                                     \
  if (Error code_ = api_.function(__VA_ARGS__); code_ != kSuccess) [[unlikely]] \
  return failed(#function, code_)
#define NEED(function)                                       \
  if (!api_.function)                                        \
  return base::failure("this CUDA driver has no " #function, \
                       {"it came with CUDA 12: a newer NVIDIA driver is needed"})

class CudaDriver final : public Driver {
 public:
  explicit CudaDriver(const CudaApi& api) : api_(api) {}

  std::string_view backend() const override { return "cuda"; }

  Result<Properties> properties(int device) override {
    TRY(initialise());
    std::lock_guard lock(mutex_);
    if (auto known = properties_.find(device); known != properties_.end()) return known->second;
    int handle = 0;
    CALL(cuDeviceGet, &handle, device);
    Properties p;
    p.ordinal = device;
    char name[256] = {};
    CALL(cuDeviceGetName, name, static_cast<int>(sizeof name), handle);
    p.name = name;
    int major = 0, minor = 0, cooperative = 0, clusters = 0;
    struct {
      int* to;
      int attribute;
      bool needed;
    } wanted[] = {
        {&major, kCapabilityMajor, true},
        {&minor, kCapabilityMinor, true},
        {&p.warp_size, kWarpSize, true},
        {&p.multiprocessors, kMultiprocessorCount, true},
        {&p.max_threads, kMaxThreadsPerBlock, true},
        {&p.shared_per_block, kMaxSharedPerBlock, true},
        {&p.shared_per_block_optin, kMaxSharedPerBlockOptin, true},
        {&p.shared_per_multiprocessor, kMaxSharedPerMultiprocessor, true},
        {&p.registers_per_block, kMaxRegistersPerBlock, true},
        {&p.l2_bytes, kL2CacheSize, true},
        {&cooperative, kCooperativeLaunch, true},
        {&clusters, kClusterLaunch, false},
    };
    for (auto& w : wanted)
      if (Error code = api_.cuDeviceGetAttribute(w.to, w.attribute, handle); code != kSuccess) {
        if (w.needed) return failed("cuDeviceGetAttribute", code);
        *w.to = 0;
      }
    p.target = "cuda:" + std::to_string(major * 10 + minor);
    p.cooperative = cooperative != 0;
    p.clusters = clusters != 0;
    properties_.emplace(device, p);
    return p;
  }

  Result<int> current_device() override {
    int device = 0;
    if (api_.cuCtxGetDevice(&device) == kSuccess) return device;  // fails where the thread has no context
    TRY(use_device(0));
    return 0;
  }

  Status use_device(int device) override {
    TRY(initialise());
    std::lock_guard lock(mutex_);
    if (device < 0) return base::failure("device " + std::to_string(device) + " is negative");
    if (contexts_.size() <= static_cast<size_t>(device)) {
      int count = 0;
      CALL(cuDeviceGetCount, &count);
      if (device >= count)
        return base::failure("there is no CUDA device " + std::to_string(device) + ": this machine has " +
                             std::to_string(count));
      contexts_.resize(device + 1, nullptr);
    }
    if (!contexts_[device]) {
      int handle = 0;
      CALL(cuDeviceGet, &handle, device);
      CALL(cuDevicePrimaryCtxRetain, &contexts_[device], handle);
    }
    CALL(cuCtxSetCurrent, contexts_[device]);
    return base::success();
  }

  Status allow_dynamic_shared(Function function, int bytes) override {
    CALL(cuFuncSetCacheConfig, handle_of(function), kCachePreferShared);
    CALL(cuFuncSetAttribute, handle_of(function), kFunctionMaxDynamicShared, bytes);
    return base::success();
  }

  Status allow_large_clusters(Function function) override {
    CALL(cuFuncSetAttribute, handle_of(function), kFunctionNonPortableCluster, 1);
    return base::success();
  }

  Result<int> max_active_clusters(Function function, const device::LaunchConfig& config) override {
    NEED(cuOccupancyMaxActiveClusters);
    LaunchAttribute attributes[4];
    cuda::LaunchConfig raw = raw_config(config, attributes);
    int clusters = 0;
    CALL(cuOccupancyMaxActiveClusters, &clusters, handle_of(function), &raw);
    return clusters;
  }

  Status launch(Function function, const device::LaunchConfig& config, void** params) override {
    if (!api_.cuLaunchKernelEx) {
      const bool is_plain =
          !config.cooperative && !config.pdl && config.cluster == std::array<uint32_t, 3>{1, 1, 1};
      if (!is_plain) NEED(cuLaunchKernelEx);
      CALL(cuLaunchKernel, handle_of(function), config.grid[0], config.grid[1], config.grid[2],
           config.block[0], config.block[1], config.block[2], config.shared_bytes, handle_of(config.stream),
           params, nullptr);
      return base::success();
    }
    // A plain launch takes it less time, too.
    LaunchAttribute attributes[4];
    cuda::LaunchConfig raw = raw_config(config, attributes);
    CALL(cuLaunchKernelEx, &raw, handle_of(function), params, nullptr);
    return base::success();
  }

  Result<std::optional<PointerInfo>> pointer(uint64_t address) override {
    // One call for the three; of memory that CUDA does not know it says success and type 0.
    uint32_t type = 0;
    int device = -1;
    Address seen = 0;
    int attributes[] = {kPointerMemoryType, kPointerDeviceOrdinal, kPointerDevicePointer};
    void* values[] = {&type, &device, &seen};
    CALL(cuPointerGetAttributes, 3, attributes, values, address);
    if (type == 0) return std::optional<PointerInfo>();
    return std::optional<PointerInfo>(PointerInfo{type == kMemoryDevice ? device : -1, seen});
  }

  Result<TensorMap> encode_tensor_map(const TensorMapSpec& spec) override {
    TRY(check_tensor_map(spec));
    // The driver counts dimensions from the innermost, and takes strides in bytes, the innermost's left out.
    uint32_t rank = static_cast<uint32_t>(spec.shape.size());
    uint64_t shape[5], strides[5] = {};
    uint64_t last_byte = 0;
    for (uint32_t i = 0; i < rank; i++) {
      shape[i] = spec.shape[rank - 1 - i];
      uint64_t bytes = spec.strides[rank - 1 - i] * static_cast<uint64_t>(spec.element_bytes);
      if (i > 0) strides[i - 1] = bytes;
      last_byte += (shape[i] - 1) * bytes;
    }
    constexpr int kInterleaveNone = 0, kL2Promotion128B = 2, kFillNan = 1, kFillZero = 0;
    const int fill = spec.nan_fill ? kFillNan : kFillZero;
    const std::vector<uint32_t> box(spec.box.rbegin(), spec.box.rend());
    const auto address = reinterpret_cast<void*>(spec.address);
    alignas(128) TensorMap map;
    if (spec.im2col) {
      const std::vector<int> lower(spec.lower.rbegin(), spec.lower.rend());
      const std::vector<int> upper(spec.upper.rbegin(), spec.upper.rend());
      const std::vector<uint32_t> steps(spec.steps.rbegin(), spec.steps.rend());
      NEED(cuTensorMapEncodeIm2col);
      CALL(cuTensorMapEncodeIm2col, &map, spec.element_type, rank, address, shape, strides, lower.data(),
           upper.data(), box[0], box[1], steps.data(), kInterleaveNone, spec.swizzle, kL2Promotion128B, fill);
    } else {
      const uint32_t steps[5] = {1, 1, 1, 1, 1};
      NEED(cuTensorMapEncodeTiled);
      CALL(cuTensorMapEncodeTiled, &map, spec.element_type, rank, address, shape, strides, box.data(), steps,
           kInterleaveNone, spec.swizzle, kL2Promotion128B, fill);
    }
    // Drivers up to CUDA 13.1 set a bit in maps of tensors under 128 KiB that makes some accesses fail
    // (Triton 3.9 and CUTLASS clear it too). Not in im2col mode: an H100 read such maps right as they were.
    constexpr uint64_t kSmallTensor = 128 * 1024;
    if (!spec.im2col && last_byte + 1 < kSmallTensor) {
      auto version = TRY(driver_version());
      if (version <= 13010) map.bytes[10] &= ~std::byte{1 << 5};  // bit 21 of the second word
    }
    return map;
  }

#define API(function) cu##function
#define EITHER(cuda, hip) cuda
#include "driver_methods.inc"
  base::Diagnostic failed(const char* call, Error code) const {
    const char *name = nullptr, *text = nullptr;
    if (api_.cuGetErrorName(code, &name) != kSuccess) name = nullptr;
    if (api_.cuGetErrorString(code, &text) != kSuccess) text = nullptr;
    base::Diagnostic d = call_failed(call, name, text, code);
    switch (code) {
      case 209:  // NO_BINARY_FOR_GPU
        d.notes.push_back(
            "the binary was compiled for another architecture than this GPU's; enter at ptx or above");
        break;
      case 700:
      case 714:
      case 715:
      case 716:
      case 717:
      case 718:
      case 719:
      case 710:
        // A kernel's fault: reported by whichever call comes next, and the context stays unusable.
        d.notes.push_back(
            "a kernel launched before this call failed; the process has to be restarted to use the GPU "
            "again");
        d.notes.push_back(base::option("device", "cpu") + " runs the same kernel with every access checked");
        break;
      default:
        break;
    }
    return d;
  }

  static cuda::LaunchConfig raw_config(const device::LaunchConfig& config, LaunchAttribute (&attributes)[4]) {
    cuda::LaunchConfig raw{
        config.grid[0],  config.grid[1],      config.grid[2],           config.block[0], config.block[1],
        config.block[2], config.shared_bytes, handle_of(config.stream), attributes,      0};
    auto add = [&](uint32_t id) -> LaunchAttribute& {
      LaunchAttribute& a = attributes[raw.num_attributes++];
      a = {};
      a.id = id;
      return a;
    };
    if (config.pdl) add(kLaunchProgrammaticSerialization).value.number = 1;
    if (config.cooperative) add(kLaunchCooperative).value.number = 1;
    if (config.cluster != std::array<uint32_t, 3>{1, 1, 1}) {
      add(kLaunchClusterDimension).value.dim = {config.cluster[0], config.cluster[1], config.cluster[2]};
      add(kLaunchClusterPolicy).value.number = kClusterPolicySpread;
    }
    return raw;
  }

  CudaApi api_;
  std::mutex mutex_;
  std::map<int, Properties> properties_;  // by device
  std::vector<Handle> contexts_;          // primary contexts, by device; retained for the life of the process
};

#undef CALL
#undef NEED

}  // namespace
}  // namespace cuda

std::unique_ptr<Driver> make_cuda_driver(const CudaApi& api) {
  return std::make_unique<cuda::CudaDriver>(api);
}

}  // namespace triton_runner::device
