// Implements tensor_map.h: a fixed structure with a magic number in front, and the checks of a box and of its
// elements.
#include <triton_runner/exec/tensor_map.h>

#include <algorithm>
#include <cstring>

namespace triton_runner::exec {

int tensor_map_element_bits(int element_type) {
  // u8 u16 u32 s32 u64 s64 f16 f32 f32.ftz f64 bf16 tf32 tf32.ftz b4x16 b4x16_p64 b6x16_p32
  static constexpr int kBits[16] = {8, 16, 32, 32, 64, 64, 16, 32, 32, 64, 16, 32, 32, 4, 4, 6};
  return element_type >= 0 && element_type < 16 ? kBits[element_type] : 0;
}

namespace {

uint16_t pack_corners(const std::vector<int64_t>& corners) {
  uint64_t packed = 0;
  const size_t bits = 16 / corners.size();
  for (int64_t corner : corners)
    packed = packed << bits | (static_cast<uint64_t>(corner) & ((1u << bits) - 1));
  return static_cast<uint16_t>(packed);
}

void encode_im2col(const Im2col& mode, TensorMap& map) {
  map.im2col = 1;
  map.lower = pack_corners(mode.lower);
  map.upper = pack_corners(mode.upper);
  for (size_t i = 0; i < mode.steps.size(); ++i)
    map.element_strides[i] = static_cast<uint8_t>(mode.steps[mode.steps.size() - 1 - i]);
}

Im2col decode_im2col(const TensorMap& map) {
  Im2col mode;
  for (int d = map.rank - 3; d >= 0; --d) {
    mode.lower.push_back(map.lower_corner(d));
    mode.upper.push_back(map.upper_corner(d));
  }
  for (int i = map.rank - 1; i >= 0; --i) mode.steps.push_back(map.element_strides[i]);
  return mode;
}

}  // namespace

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
  }
  if (desc.im2col) encode_im2col(*desc.im2col, map);
  if (layout) {
    const size_t axes = std::min<size_t>(5, layout->block.size());
    for (size_t i = 0; i < axes; ++i) map.box[i] = static_cast<uint16_t>(layout->block[axes - 1 - i]);
    if (layout->fp4_padded) map.shape[0] *= 2;  // it counts the halves of bytes, as the box does
    map.element_type = static_cast<uint8_t>(layout->element_type);
    map.element_bytes = static_cast<uint8_t>(layout->element_bytes);
    map.swizzle = static_cast<uint8_t>(layout->swizzle);
  }
  if (desc.round_to_tf32) map.element_type = kTensorMapTf32;
  std::memset(out, 0, kTensorMapBytes);
  std::memcpy(out, &map, sizeof map);
}

std::optional<TensorMap> read_tensor_map(const std::byte* in) {
  TensorMap map;
  std::memcpy(&map, in, sizeof map);
  if (map.magic != kTensorMapMagic || map.rank < (map.im2col ? 3 : 1) || map.rank > 5) return std::nullopt;
  return map;
}

// The address; at 8 rank - 1 (3 bits from bit 4), element type (4 from 7), interleaving (2 from 11), swizzle (2 from 13),
// fill (bit 15), a swizzle of 96 bytes (bit 22); at 12 strides by 16, their bits from 32 on at 28, 4 each; at 32 sizes - 1;
// at 52 strides of elements - 1, 3 bits each; from 55 on the box - 1, a byte each.
std::optional<TensorMap> read_hardware_map(const std::byte* in) {
  auto word = [&](size_t at) {
    uint32_t bits = 0;
    std::memcpy(&bits, in + at, sizeof bits);
    return bits;
  };
  const uint32_t kinds = word(8);
  TensorMap map;
  std::memcpy(&map.address, in, sizeof map.address);
  map.rank = static_cast<uint8_t>((kinds >> 4 & 7) + 1);
  map.element_type = kinds >> 7 & 15;
  const int bits = tensor_map_element_bits(map.element_type);
  if (map.rank > 5 || bits < 8 || kinds >> 22 & 1) return std::nullopt;
  map.element_bytes = static_cast<uint8_t>(bits / 8);
  map.interleave = kinds >> 11 & 3;
  map.swizzle = kinds >> 13 & 3;
  map.nan_fill = kinds >> 15 & 1;
  for (size_t d = 0; d < map.rank; ++d) {
    map.shape[d] = int64_t{word(32 + 4 * d)} + 1;
    map.box[d] = static_cast<uint16_t>(static_cast<uint8_t>(in[55 + d]) + 1);
    map.element_strides[d] = static_cast<uint8_t>((word(52) >> 3 * d & 7) + 1);
    if (d > 0) map.strides[d] = (int64_t{word(8 + 4 * d)} | int64_t{word(28) >> 4 * (d - 1) & 15} << 32) << 4;
  }
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
  if (map->im2col) desc.im2col = decode_im2col(*map);
  desc.round_to_tf32 = map->element_type == kTensorMapTf32;
  return desc;
}

std::string descriptor_fault(const TensorDesc& desc) {
  const size_t rank = desc.shape.size();
  if (rank < 1 || rank > 5 || rank != desc.strides.size())
    return "a tensor descriptor has 1 to 5 dimensions and as many strides";
  if (!desc.im2col) return {};
  const Im2col& mode = *desc.im2col;
  if (rank < 3)
    return "a descriptor in im2col mode has 3 to 5 dimensions (N, [D, [H,]] W, C), and this one " +
           std::to_string(rank);
  const size_t axes = rank - 2;
  if (mode.lower.size() != axes || mode.upper.size() != axes)
    return "the corners of the pixel box have " + std::to_string(mode.lower.size()) + " and " +
           std::to_string(mode.upper.size()) + " numbers, and the tensor has " + std::to_string(axes) +
           " dimensions between the first and the last";
  if (!mode.steps.empty() && mode.steps.size() != rank)
    return "element_strides has " + std::to_string(mode.steps.size()) + " numbers, and the tensor " +
           std::to_string(rank) + " dimensions";
  for (int64_t step : mode.steps)
    if (step < 1 || step > 8) return "element stride " + std::to_string(step) + ": it is 1 to 8";
  for (size_t d = 0; d < rank; ++d)
    if (desc.shape[d] < 1 || desc.shape[d] > int64_t{1} << 32)
      return "size " + std::to_string(desc.shape[d]) + " of dimension " + std::to_string(d) +
             ": it is 1 to 2^32";
  const int64_t limit = int64_t{1} << (16 / axes - 1);
  for (size_t d = 0; d < axes; ++d) {
    for (int64_t corner : {mode.lower[d], mode.upper[d]})
      if (corner < -limit || corner >= limit)
        return "corner " + std::to_string(corner) + " of the pixel box: in tensors of " +
               std::to_string(rank) + " dimensions it is " + std::to_string(-limit) + " to " +
               std::to_string(limit - 1);
    if (desc.shape[d + 1] + mode.upper[d] <= mode.lower[d])
      return "the pixel box is empty along dimension " + std::to_string(d + 1) + ": pixels would begin at " +
             std::to_string(mode.lower[d]) + " at the least and below " +
             std::to_string(desc.shape[d + 1] + mode.upper[d]) + " (the size plus the upper corner)";
  }
  return {};
}

std::string PixelColumn::fault() const {
  for (int d = 0; d + 1 < axes; ++d)
    if (first[d] < lower[d] || first[d] >= end[d])
      return "the column begins at " + std::string(1, "WHD"[d]) + " = " + std::to_string(first[d]) +
             ", outside of the descriptor's pixel box: " + std::to_string(lower[d]) + " to " +
             std::to_string(end[d] - 1) + " (from the lower corner to the last element plus the upper one)";
  if (channel_bytes % 16 != 0)
    return "the column begins " + std::to_string(channel_bytes) +
           " bytes into the channels, not a multiple of 16";
  return {};
}

std::string box_fault(int64_t row_bytes, int64_t least, bool is_store) {
  if (row_bytes % 16 != 0)
    return "the box begins " + std::to_string(row_bytes) +
           " bytes into the tensor's rows, not a multiple of 16: the hardware faults";
  if (is_store && least < 0)
    return "a store to coordinate " + std::to_string(least) +
           ": the hardware takes boxes that end outside of the tensor, and none that begin before it";
  return {};
}

void PixelColumn::place(int64_t pixel, int64_t* at) const {
  int64_t steps = pixel;  // along this axis
  for (int d = 0; d + 1 < axes; ++d) {
    const int64_t here = (end[d] - first[d] + step[d] - 1) / step[d];  // places up to the end
    if (steps < here) {
      at[d] = first[d] + steps * step[d] + offset[d];
      steps = 0;
      continue;
    }
    const int64_t line = (end[d] - lower[d] + step[d] - 1) / step[d];
    at[d] = lower[d] + (steps - here) % line * step[d] + offset[d];
    steps = 1 + (steps - here) / line;
  }
  at[axes - 1] = first[axes - 1] + steps * step[axes - 1];
}

}  // namespace triton_runner::exec
