// Encodes and decodes the 128 bytes in which a tensor descriptor lies in memory: the CPU's own format in
// place of CUtensorMap, recognised by a magic number. Releases up to 3.3 pass a host-side descriptor as a
// pointer to them; kernels write them too.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <triton_runner/exec/kernel.h>
#include <triton_runner/exec/parameters.h>

namespace triton_runner::exec {

inline constexpr size_t kTensorMapBytes = 128;
inline constexpr uint64_t kTensorMapMagic = 0x70614d726f736e54;  // "TnsorMap"

// Element types and swizzles, as tensormap.replace numbers them (PTX ISA 9.7.9.27).
enum class MapElement : uint8_t {
  kU8,
  kU16,
  kU32,
  kS32,
  kU64,
  kS64,
  kF16,
  kF32,
  kF32Ftz,
  kF64,
  kBf16,
  kTf32,
  kTf32Ftz,
  kB4x16,
  kB4x16P64,
  kB6x16P32
};
enum class MapSwizzle : uint8_t { kNone, k32, k64, k128, k96 };
inline constexpr int kTensorMapTf32 = static_cast<int>(MapElement::kTf32);

// Axes innermost first, as the instructions count them (TensorDesc has them outermost first).
struct TensorMap {
  uint64_t magic = kTensorMapMagic;
  uint64_t address = 0;
  int64_t shape[5] = {};    // elements
  int64_t strides[5] = {};  // bytes; elements where element_bytes is 0. Of axis 0: one element, or 0
  uint16_t box[5] = {};     // elements; in im2col mode channels and pixels
  uint8_t element_strides[5] = {1, 1, 1, 1, 1};
  uint8_t rank = 0;
  uint8_t element_type = 0;   // a MapElement
  uint8_t element_bytes = 0;  // 0: whoever made it did not say, nor box, element_type and swizzle
  uint8_t swizzle = 0;        // a MapSwizzle
  uint8_t swizzle_atomicity = 0;
  uint8_t interleave = 0;
  uint8_t nan_fill = 0;
  uint8_t im2col = 0;  // 1: corners say where pixels may begin
  uint16_t lower = 0, upper = 0;

  MapElement element() const { return MapElement{element_type}; }
  MapSwizzle swizzling() const { return MapSwizzle{swizzle}; }
  // Corners of W, H, D share 16 bits, as the offsets of a copy have them: 16 each, 8, or 5.
  int corner_bits() const { return 16 / (rank - 2); }
  int64_t lower_corner(int d) const { return corner(lower, d); }  // d: 0 of W
  int64_t upper_corner(int d) const { return corner(upper, d); }

 private:
  int64_t corner(uint16_t packed, int d) const {
    const int bits = corner_bits(), shift = 64 - bits;
    return static_cast<int64_t>(uint64_t{packed} >> (d * bits) << shift) >> shift;
  }
};
static_assert(sizeof(TensorMap) <= kTensorMapBytes);

// The places of a column's pixels, in im2col mode: from the one that the coordinates name on along W, then H,
// D and the images. Axes innermost first, channels left out.
struct PixelColumn {
  int axes = 0;         // 2 to 4: W, [H, [D,]] N
  int64_t first[4]{};   // coordinates of the copy
  int64_t offset[3]{};  // added to every pixel
  int64_t lower[3]{}, end[3]{}, step[4]{};
  int64_t channel_bytes = 0;  // the coordinate of the channels, in bytes

  // Empty, or why the hardware stops a kernel that starts there.
  std::string fault() const;
  // Coordinates of a pixel (0: the first) of a column without fault.
  void place(int64_t pixel, int64_t* at) const;
};

// Says what an H100 makes an illegal instruction of, where a box of a tiled copy begins: so many bytes into a
// row of the tensor, and its least coordinate. Empty: nothing.
std::string box_fault(int64_t row_bytes, int64_t least, bool is_store);

// `out` holds kTensorMapBytes; desc has 1 to 5 dimensions, and layout (if there is one) as many.
void encode_tensor_map(const TensorDesc& desc, std::byte* out, const DescriptorLayout* layout = nullptr);
// An element of type kTensorMapTf32 as it is loaded: 10 bits of the fraction, to nearest, ties to even, and
// one NaN for all.
constexpr uint32_t rounded_to_tf32(uint32_t f32) {
  if ((f32 & 0x7fffffff) > 0x7f800000) return 0x7fffe000;
  return (f32 & 0x7f800000) == 0x7f800000 ? f32 : (f32 + 0xfff + (f32 >> 13 & 1)) & 0xffffe000;
}
// Bits of an element in global memory; 0 if it is not an element type.
int tensor_map_element_bits(int element_type);
// A map as machine code writes it, field by field: what ptxas makes of tensormap.replace. The bits of im2col mode are not
// among these. Empty: an unknown rank or element type.
std::optional<TensorMap> read_hardware_map(const std::byte* in);
// Empty where the bytes are no descriptor of ours.
std::optional<TensorMap> read_tensor_map(const std::byte* in);
std::optional<TensorDesc> decode_tensor_map(const std::byte* in);

}  // namespace triton_runner::exec
