// Reads the kernel descriptor of a code object (LLVM's AMDGPU guide, "Kernel Descriptor"): 64 bytes, and the
// directives that they stand for.
#pragma once
#include <string>
#include <string_view>

#include <triton_runner/amdgcn/encodings.h>
#include <triton_runner/artifact/json.h>

namespace triton_runner::amdgcn {

inline constexpr uint64_t kDescriptorBytes = 64;

struct Descriptor {
  uint32_t group_bytes = 0, private_bytes = 0, kernarg_bytes = 0;
  uint32_t first = 0, second = 0, third = 0;  // COMPUTE_PGM_RSRC1, 2 and 3
  uint16_t properties = 0, preload = 0;
  int64_t vgprs = -1;  // of the metadata; -1: not said

  bool is_wave32() const { return properties >> 10 & 1; }
};

Descriptor read_descriptor(std::string_view bytes, const artifact::Json& metadata);

// .amdhsa_kernel to .end_amdhsa_kernel.
std::string text_of(const Descriptor& d, std::string_view name, Chip chip);

}  // namespace triton_runner::amdgcn
