// A fixed structure with a magic number in front.
#include <triton_runner/exec/tensor_map.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace triton_runner::exec {
namespace {

constexpr uint64_t kMagic = 0x70614d726f736e54;  // "TnsorMap"

struct Blob {
  uint64_t magic;
  uint64_t address;
  int32_t rank;
  int32_t nan_padding;
  int64_t shape[5];
  int64_t strides[5];
};
static_assert(sizeof(Blob) <= kTensorMapBytes);

}  // namespace

void encode_tensor_map(const TensorDesc& desc, std::byte* out) {
  Blob blob{kMagic, desc.address, static_cast<int32_t>(desc.shape.size()), desc.nan_padding, {}, {}};
  std::copy_n(desc.shape.begin(), std::min<size_t>(5, desc.shape.size()), blob.shape);
  std::copy_n(desc.strides.begin(), std::min<size_t>(5, desc.strides.size()), blob.strides);
  std::memset(out, 0, kTensorMapBytes);
  std::memcpy(out, &blob, sizeof blob);
}

std::optional<TensorDesc> decode_tensor_map(const std::byte* in) {
  Blob blob;
  std::memcpy(&blob, in, sizeof blob);
  if (blob.magic != kMagic || blob.rank < 1 || blob.rank > 5) return std::nullopt;
  return TensorDesc{blob.address,
                    {blob.shape, blob.shape + blob.rank},
                    {blob.strides, blob.strides + blob.rank},
                    blob.nan_padding != 0};
}

}  // namespace triton_runner::exec
