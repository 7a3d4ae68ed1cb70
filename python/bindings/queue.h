// Launches on a GPU from the bits that were read for a call's key.
#pragma once
#include <triton_runner/launch/gpu_kernel.h>

namespace triton_runner::python {

// The kernel, if it is one of a GPU; its driver is asked for threads' devices from then on.
launch::GpuKernel* as_gpu_kernel(exec::Kernel& kernel);

}  // namespace triton_runner::python
