// A fixed structure with a magic number in front.
#include <triton_runner/exec/tensor_map.h>

#include <algorithm>
#include <cstring>

namespace triton_runner::exec {

void encode_tensor_map(const TensorDesc& desc, std::byte* out, const DescriptorLayout* layout) {
  TensorMap map;
  map.address = desc.address;
  map.rank = static_cast<uint8_t>(std::min<size_t>(5, desc.shape.size()));
  map.nan_fill = desc.nan_padding;
  const int64_t unit = layout ? layout->element_bytes : 1;
  for (size_t i = 0; i < map.rank; ++i) {
    map.shape[i] = desc.shape[i];
    map.strides[i] = desc.strides[i] * unit;
    if (layout) map.box[i] = static_cast<uint16_t>(layout->block[i]);
  }
  if (layout) {
    map.element_type = static_cast<uint8_t>(layout->element_type);
    map.element_bytes = static_cast<uint8_t>(layout->element_bytes);
    map.swizzle = static_cast<uint8_t>(layout->swizzle);
  }
  std::memset(out, 0, kTensorMapBytes);
  std::memcpy(out, &map, sizeof map);
}

std::optional<TensorMap> read_tensor_map(const std::byte* in) {
  TensorMap map;
  std::memcpy(&map, in, sizeof map);
  if (map.magic != kTensorMapMagic || map.rank < 1 || map.rank > 5) return std::nullopt;
  return map;
}

std::optional<TensorDesc> decode_tensor_map(const std::byte* in) {
  std::optional<TensorMap> map = read_tensor_map(in);
  if (!map) return std::nullopt;
  TensorDesc desc{map->address, {map->shape, map->shape + map->rank}, {}, map->nan_fill != 0};
  for (int i = 0; i < map->rank; ++i) {
    const int64_t unit = std::max<int64_t>(1, map->element_bytes);
    desc.strides.push_back(map->strides[i] / unit);
  }
  return desc;
}

}  // namespace triton_runner::exec
