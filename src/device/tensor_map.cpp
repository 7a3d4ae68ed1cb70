// Implements check_tensor_map(): each rule of the TMA unit with a message that names the field which breaks
// it.
#include "tensor_map.h"

namespace triton_runner::device {

base::Status check_tensor_map(const TensorMapSpec& spec) {
  size_t rank = spec.im2col ? spec.shape.size() : spec.box.size();
  auto bad = [](std::string message) { return base::failure("tensor descriptor: " + std::move(message)); };
  if (rank < 1 || rank > 5)
    return bad("rank " + std::to_string(rank) + "; the TMA unit has 1 to 5 dimensions");
  if (spec.shape.size() != rank || spec.strides.size() != rank)
    return bad("the block has rank " + std::to_string(rank) + ", the tensor's shape " +
               std::to_string(spec.shape.size()) + " and strides " + std::to_string(spec.strides.size()));
  if (spec.im2col && (rank < 3 || spec.lower.size() != rank - 2 || spec.upper.size() != rank - 2 ||
                      spec.steps.size() != rank || spec.box.size() != 2))
    return bad(
        "in im2col mode it has 3 to 5 dimensions, corners for those between the first and the last, "
        "a step for each, and blocks of pixels and channels");
  if (spec.element_bytes < 1) return bad("element size " + std::to_string(spec.element_bytes));
  if (spec.address % 16 != 0) return bad("the base address is not a multiple of 16 bytes");
  for (size_t i = 0; i < spec.box.size(); i++) {
    const uint32_t most = spec.im2col && i == 0 ? 1024 : 256;  // pixels of a column
    if (spec.box[i] < 1 || spec.box[i] > most)
      return bad("block size " + std::to_string(spec.box[i]) + " of dimension " + std::to_string(i) +
                 " is not in 1 .. " + std::to_string(most));
  }
  for (size_t i = 0; i < rank; i++) {
    std::string dim = " of dimension " + std::to_string(i);
    if (spec.shape[i] < 1 || spec.shape[i] > (uint64_t{1} << 32))
      return bad("size " + std::to_string(spec.shape[i]) + dim + " is not in 1 .. 2^32");
    if (i + 1 == rank) break;
    uint64_t bytes = spec.strides[i] * static_cast<uint64_t>(spec.element_bytes);
    if (bytes % 16 != 0 || bytes >= (uint64_t{1} << 40))
      return bad("stride" + dim + " is " + std::to_string(bytes) + " bytes, not a multiple of 16 below 2^40");
  }
  if (spec.strides[rank - 1] != 1)
    return bad("stride of the last dimension is " + std::to_string(spec.strides[rank - 1]) + ", not 1");
  return base::success();
}

}  // namespace triton_runner::device
