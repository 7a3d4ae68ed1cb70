// A kernel on a GPU behind the executor seam: packs exec::Arguments the way the compiled kernel takes them,
// adds what Triton hides after them (scratch buffers, expanded tensor descriptors), and launches.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <triton_runner/device/driver.h>
#include <triton_runner/exec/kernel.h>
#include <triton_runner/exec/parameters.h>

namespace triton_runner::launch {

using exec::DescriptorLayout;
using exec::Scratch;

// A tensor descriptor without a DescriptorLayout travels in pieces: base, shape and strides as i64, flags as
// i1, then shape as i32 and strides as i64. Releases differ in the number of flags.
struct GpuKernelSpec {
  std::string image;  // cubin, PTX or code object
  std::string name;
  std::string level;                // "cubin", "ptx", "hsaco", or the level that it was compiled from
  std::string target;               // "cuda:90"; empty: not checked against the device
  std::vector<exec::Param> params;  // what the caller gives, in order
  std::vector<DescriptorLayout>
      descriptors;           // of the kTensorDesc parameters, in order; empty: they travel in pieces
  int descriptor_flags = 2;  // i1 flags of a descriptor in pieces: padding, round to tf32
  std::array<uint32_t, 3> block{128, 1, 1};  // threads
  std::array<uint32_t, 3> cluster{1, 1, 1};
  bool grid_of_blocks = false;  // launches' grids count blocks, and not clusters
  int64_t shared_bytes = 0;     // dynamic; -1: not known, the device's maximum is asked for
  bool cooperative = false;
  bool pdl = false;
  int hidden_pointers = 0;  // 0; 1: global scratch; 2: global scratch, profile scratch
  Scratch global_scratch;
  Scratch profile_scratch;
};

// Adds what exec::Kernel does not say. kernel->launch() returns when the launch is queued on options.stream.
class GpuKernel : public exec::Kernel {
 public:
  virtual const device::Resources& resources() const = 0;
  virtual int64_t shared_bytes() const = 0;  // dynamic, as launched
  virtual int device() const = 0;
  virtual const std::vector<std::string>& warnings() const = 0;
  virtual device::Driver& driver() const = 0;

  // Whether each parameter is one word and nothing is allocated for a launch: then queue() launches it.
  virtual bool takes_words() const = 0;
  // A launch of values that are known to be right, on the kernel's device, which has to be the thread's: bits
  // as exec::Argument has them, one a parameter. Errors: what the driver refuses.
  virtual base::Status queue(const std::array<int64_t, 3>& grid, device::Stream stream,
                             std::span<const uint64_t> bits) = 0;
};

// Loads the image on `device` (-1: the current one). Errors: target of another architecture than the
// device's, more shared memory or threads than it has, what the driver refuses.
base::Result<std::unique_ptr<GpuKernel>> load(device::Driver& driver, GpuKernelSpec spec, int device = -1);
// The same for a function that somebody else has loaded there and unloads: Triton. The image is not looked at.
base::Result<std::unique_ptr<GpuKernel>> adopt(device::Driver& driver, GpuKernelSpec spec,
                                               device::Function function, int device);

}  // namespace triton_runner::launch
