// A fixed structure with a magic number in front.
#include <triton_runner/exec/tensor_map.h>

#include <algorithm>
#include <cstring>

namespace triton_runner::exec {

int tensor_map_element_bits(int element_type) {
  // u8 u16 u32 s32 u64 s64 f16 f32 f32.ftz f64 bf16 tf32 tf32.ftz b4x16 b4x16_p64 b6x16_p32
  static constexpr int kBits[16] = {8, 16, 32, 32, 64, 64, 16, 32, 32, 64, 16, 32, 32, 4, 4, 6};
  return element_type >= 0 && element_type < 16 ? kBits[element_type] : 0;
}

void encode_tensor_map(const TensorDesc& desc, std::byte* out, const DescriptorLayout* layout) {
  TensorMap map;
  map.address = desc.address;
  map.rank = static_cast<uint8_t>(std::min<size_t>(5, desc.shape.size()));
  map.nan_fill = desc.nan_padding;
  const int64_t unit = layout ? layout->element_bytes : 1;
  for (size_t i = 0; i < map.rank; ++i) {
    const size_t from = map.rank - 1 - i;
    map.shape[i] = desc.shape[from];
    map.strides[i] = desc.strides[from] * unit;
    if (layout) map.box[i] = static_cast<uint16_t>(layout->block[from]);
  }
  if (layout) {
    if (layout->fp4_padded) map.shape[0] *= 2;  // it counts the halves of bytes, as the box does
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
  TensorDesc desc{map->address, {}, {}, map->nan_fill != 0};
  for (int i = map->rank - 1; i >= 0; --i) {
    const int64_t unit = std::max<int64_t>(1, map->element_bytes);
    const bool halves = i == 0 && map->element_bytes && tensor_map_element_bits(map->element_type) == 4;
    desc.shape.push_back(halves ? map->shape[i] / 2 : map->shape[i]);
    desc.strides.push_back(i == 0 && map->element_bytes ? 1 : map->strides[i] / unit);
  }
  return desc;
}

}  // namespace triton_runner::exec
