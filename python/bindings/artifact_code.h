// Declares launches of kernels that take their values by what an artifact says, not by a Python function's
// signature.
#pragma once
#include "arguments.h"
#include "launch.h"

namespace triton_runner::python {

// A launch of a loaded kernel with values for its parameters; what its compilation folded away is dropped.
void launch_named(exec::Kernel& kernel, nb::handle grid, const Named& named, const Options& options);

void init_artifact_code(nb::module_& m);

}  // namespace triton_runner::python
