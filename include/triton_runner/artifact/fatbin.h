// Finds the device code of a file that holds several pieces of it: a fatbin (*.fatbin), or a program or
// library whose sections hold fatbins, as nvcc makes them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/base/result.h>

namespace triton_runner::artifact {

// One piece, for one architecture.
struct DeviceCode {
  std::string level;   // "cubin" or "ptx"
  std::string target;  // "cuda:90"
  std::string content;
  std::string problem;               // why there is no content; empty where there is
  std::vector<std::string> kernels;  // of a cubin
};

// All pieces in the order of the file; a cubin is its own only piece. Pieces compressed by LZ4 are expanded; of those by
// Zstandard (CUDA 13) `problem` says so. Errors: what is neither, a file without device code, headers that lead outside.
base::Result<std::vector<DeviceCode>> device_code(std::string_view bytes, const std::string& filename);

}  // namespace triton_runner::artifact
