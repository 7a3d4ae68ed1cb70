// The 128 bytes in which a tensor descriptor lies in memory: the CPU's own format in place of CUtensorMap,
// told by a magic number. Releases up to 3.3 pass a host-side descriptor as a pointer to them; kernels write
// them too.
#pragma once
#include <cstddef>
#include <optional>

#include <triton_runner/exec/kernel.h>

namespace triton_runner::exec {

inline constexpr size_t kTensorMapBytes = 128;
// `out` holds kTensorMapBytes; desc has 1 to 5 dimensions.
void encode_tensor_map(const TensorDesc& desc, std::byte* out);
// Empty where the bytes are no descriptor of ours.
std::optional<TensorDesc> decode_tensor_map(const std::byte* in);

}  // namespace triton_runner::exec
