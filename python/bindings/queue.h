// Launches on a GPU from the bits that were read for a call's key.
#pragma once
#include <triton_runner/launch/gpu_kernel.h>

namespace triton_runner::python {

// From here on a call's key has the device of its thread, which this driver is asked for.
void expect_launches(device::Driver& driver);

// The kernel, if it is one of a GPU; launches by its driver are expected from then on.
launch::GpuKernel* as_gpu_kernel(exec::Kernel& kernel);

}  // namespace triton_runner::python
