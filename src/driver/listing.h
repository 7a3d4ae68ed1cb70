// listing_of() is what nvdisasm prints of a cubin, which the SIMT engine reads.
#pragma once
#include <string>

#include <triton_runner/base/result.h>

namespace triton_runner::driver {

// Runs the program that TRITON_RUNNER_NVDISASM names. Errors: there is none, or it does not read the cubin.
base::Result<std::string> listing_of(const std::string& cubin);

}  // namespace triton_runner::driver
