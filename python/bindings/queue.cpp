// Implements Launcher::queue: from the bits that were read for a call's key to the driver's call, with
// nothing made in between.
#include "queue.h"

#include <triton_runner/exec/scalar.h>
#include <triton_runner/launch/turns.h>

#include <bit>

#include "dispatch.h"
#include "dlpack.h"

namespace triton_runner::python {
namespace {

device::Driver* driver_in_use = nullptr;  // whose devices are part of keys

class PythonsLock final : public launch::Turns::Lock {
 public:
  void release() override { state_ = PyEval_SaveThread(); }
  void acquire() override { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* state_ = nullptr;
};
launch::Turns& turns = *new launch::Turns;  // threads may wait for theirs while the process ends

// Memory that the GPU reaches, as it sees it. Triton's launchers ask the driver about each pointer, too.
bool reaches(launch::GpuKernel& kernel, uint64_t& address) {
  if (address == 0) return true;
  auto found = kernel.driver().pointer(address);
  if (!found || !*found) return false;
  if ((*found)->device >= 0 && (*found)->device != kernel.device()) return false;
  address = (*found)->address;
  return true;
}

// Sets `bits` to what a value is to a parameter; false: Triton's launcher says what it makes of it.
bool fits(const Launcher::Word& param, Mark mark, uint64_t& bits, launch::GpuKernel& kernel) {
  switch (param.kind) {
    case exec::ParamKind::kPointer:
      if (mark == Mark::kAddress) return reaches(kernel, bits);
      return mark == Mark::kHere || mark == Mark::kNone || mark == Mark::kLarge ||
             (mark == Mark::kInteger && static_cast<int64_t>(bits) >= 0);
    case exec::ParamKind::kInteger: {
      if (mark == Mark::kLarge) return param.takes_large;
      const auto value = static_cast<int64_t>(bits);
      return mark == Mark::kInteger && value >= param.least && value <= param.most;
    }
    case exec::ParamKind::kFloat:
      if (mark == Mark::kInteger)
        bits = std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(bits)));
      return (mark == Mark::kReal || mark == Mark::kInteger) && (!param.is_half || exec::fits_half(bits));
    case exec::ParamKind::kTensorDesc:
      return false;
  }
  return false;
}

}  // namespace

void expect_launches(device::Driver& driver) { driver_in_use = &driver; }

launch::GpuKernel* as_gpu_kernel(exec::Kernel& kernel) {
  auto* gpu = dynamic_cast<launch::GpuKernel*>(&kernel);
  if (gpu) expect_launches(gpu->driver());
  return gpu;
}

int gpu_of_this_thread() {
  if (!driver_in_use) return -1;
  auto device = driver_in_use->current_device();
  return device ? *device : -1;
}

bool Launcher::queue(const std::array<int64_t, 3>& grid, const Given& given, const Options& options) const {
  if (gpu->device() != given.device) return false;
  const uint64_t stream = current_stream(is_hip, given.device);
  if (!is_direct || !gpu->takes_words()) {
    Options there = options;
    there.device = "cuda";  // as torch calls AMD's devices too
    there.stream = stream;
    run(grid, given.values.data(), given.size, there);
    return true;
  }
  std::array<uint64_t, Given::kMax> bits;
  for (size_t i = 0; i < words.size(); i++) {
    const Value& value = given.read[words[i].from];
    bits[i] = value.bits;
    if (!fits(words[i], value.mark, bits[i], *gpu)) return false;
  }
  PythonsLock lock;
  const uint64_t round = turns.enter(lock);
  base::Status status = base::success();
  {
    nb::gil_scoped_release no_gil;
    status = gpu->queue(grid, stream, {bits.data(), words.size()});
  }
  turns.leave(round);
  unwrap(std::move(status));
  return true;
}

}  // namespace triton_runner::python
