// Describes how a compiled kernel takes its arguments where that differs from what the caller gives:
// host-side tensor descriptors that became several parameters, and buffers that Triton passes after the
// caller's arguments.
#pragma once
#include <cstdint>
#include <vector>

namespace triton_runner::exec {

// Memory that Triton asks for per block behind the kernel's back.
struct Scratch {
  int64_t bytes_per_block = 0;
  int64_t align = 1;
};

// How a host-side tensor descriptor was lowered (one entry of the metadata's tensordesc_meta).
struct DescriptorLayout {
  int swizzle = 0;
  int element_bytes = 0;
  int element_type = 0;        // Triton's number: as the PTX instruction; the host's differs for 8, 9 and 10
  std::vector<int64_t> block;  // elements, outermost first; in im2col mode pixels and channels
  bool fp4_padded = false;
  bool im2col = false;
};

}  // namespace triton_runner::exec
