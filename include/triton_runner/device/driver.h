// Puts one seam in front of the GPU drivers: CUDA and HIP implement Driver, each over a table of the
// library's entry points, so that a test puts recording functions into the table and runs the real code.
//
// Handles are the library's own pointers, as integers. Every failing call becomes a Diagnostic that names the
// library's function, its error's name and text: "cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel
// image...".
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/base/result.h>

namespace triton_runner::device {

using base::Result;
using base::Status;
using Module = uint64_t;
using Function = uint64_t;
using Stream = uint64_t;  // 0: the legacy default stream

struct Properties {
  int ordinal = 0;
  std::string name;    // "NVIDIA H200"
  std::string target;  // "cuda:90", "hip:gfx942"
  int warp_size = 0;   // threads
  int multiprocessors = 0;
  int max_threads = 0;             // a block
  int shared_per_block = 0;        // bytes, without opting in
  int shared_per_block_optin = 0;  // bytes, the most that a kernel can ask for
  int shared_per_multiprocessor = 0;
  int registers_per_block = 0;
  int l2_bytes = 0;
  bool cooperative = false;
  bool clusters = false;
};

// The resources that the loaded code takes, as Triton's CompiledKernel reports them.
struct Resources {
  int n_regs = 0;         // registers a thread
  int n_spills = 0;       // local memory a thread, in 4-byte words
  int static_shared = 0;  // bytes
  int max_threads = 0;    // a block
};

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1};     // blocks, the clusters' already multiplied in
  std::array<uint32_t, 3> block{1, 1, 1};    // threads
  std::array<uint32_t, 3> cluster{1, 1, 1};  // blocks
  uint32_t shared_bytes = 0;                 // dynamic
  Stream stream = 0;
  bool cooperative = false;
  bool pdl = false;  // programmatic dependent launch
};

struct PointerInfo {
  int device = -1;       // -1: host memory that the device can reach
  uint64_t address = 0;  // as the device sees it
};

// A tensor map (TMA), tiled or in im2col mode. Sizes are outermost first, as Triton writes them; strides are
// in elements.
struct TensorMapSpec {
  uint64_t address = 0;
  int element_type = 0;  // CUtensorMapDataType
  int element_bytes = 0;
  int swizzle = 0;  // 0 none, 1 32 B, 2 64 B, 3 128 B
  std::vector<uint32_t> box;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> strides;
  bool nan_fill = false;
  // im2col: `box` is pixels and channels, the corners are of D, H, W, the steps of every dimension.
  bool im2col = false;
  std::vector<int> lower, upper;
  std::vector<uint32_t> steps;
};
struct TensorMap {
  std::array<std::byte, 128> bytes{};  // a kernel parameter, to be aligned to 64 bytes
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual std::string_view backend() const = 0;  // "cuda" or "hip"
  virtual Result<int> device_count() = 0;
  virtual Result<int> driver_version() = 0;  // 13000: CUDA 13.0
  virtual Result<Properties> properties(int device) = 0;

  // The calling thread's device: what its context belongs to; the first device where it has none (made
  // current then).
  virtual Result<int> current_device() = 0;
  // Makes the device's primary context (the one that PyTorch uses too) current on the calling thread.
  virtual Status use_device(int device) = 0;

  // `image` is cubin, PTX text or a code object. A refused PTX brings the driver's compiler log along in the
  // notes.
  virtual Result<Module> load_module(std::string_view image) = 0;
  virtual Status unload_module(Module module) = 0;
  virtual Result<Function> function(Module module, const std::string& name) = 0;
  virtual Result<Resources> resources(Function function) = 0;
  // Lets the function be launched with so much dynamic shared memory (what exceeds 48 KiB must be asked for).
  virtual Status allow_dynamic_shared(Function function, int bytes) = 0;
  virtual Status allow_large_clusters(Function function) = 0;
  // Blocks of `threads` threads that fit a multiprocessor at once.
  virtual Result<int> occupancy(Function function, int threads, int shared_bytes) = 0;
  // Clusters that fit the device at once.
  virtual Result<int> max_active_clusters(Function function, const LaunchConfig& config) = 0;
  // `params[i]` points at the i-th parameter's bytes. Returns when the launch is queued.
  virtual Status launch(Function function, const LaunchConfig& config, void** params) = 0;

  virtual Result<uint64_t> allocate(size_t bytes, Stream stream) = 0;  // in stream order
  virtual Status release(uint64_t address, Stream stream) = 0;
  virtual Status fill_zero(uint64_t address, size_t bytes, Stream stream) = 0;
  virtual Status copy_to_device(uint64_t to, const void* from, size_t bytes) = 0;
  virtual Status copy_to_host(void* to, uint64_t from, size_t bytes) = 0;
  virtual Status synchronize(Stream stream) = 0;

  // Finds where memory lies; nothing where the current device cannot reach the address (a CPU tensor's).
  virtual Result<std::optional<PointerInfo>> pointer(uint64_t address) = 0;
  virtual Result<TensorMap> encode_tensor_map(const TensorMapSpec& spec) = 0;
};

struct CudaApi;
struct HipApi;
// A driver over a table of entry points; the table is copied.
std::unique_ptr<Driver> make_cuda_driver(const CudaApi& api);
std::unique_ptr<Driver> make_hip_driver(const HipApi& api);
// The process's driver: opens `library` (libcuda.so.1, libamdhip64.so where empty) on the first call that
// succeeds and keeps it. `backend` is "cuda" or "hip". Errors: no such library, or one without the entry
// points needed.
Result<Driver*> open_driver(std::string_view backend, const std::string& library = "");

}  // namespace triton_runner::device
