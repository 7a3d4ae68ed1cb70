// Writes tensor maps: the 128 bytes that kernels pass to the TMA unit, in this engine's own format.
#include <algorithm>
#include <cstring>
#include <optional>

#include <triton_runner/exec/tensor_map.h>

#include "calls.h"

namespace triton_runner::driver {
namespace {

// An element type, which the host numbers otherwise than instructions do.
int element_of(int type) {
  constexpr int kF64 = 8, kBf16 = 9, kF32Ftz = 10;
  if (type == kF64) return static_cast<int>(exec::MapElement::kF64);
  if (type == kBf16) return static_cast<int>(exec::MapElement::kBf16);
  return type == kF32Ftz ? static_cast<int>(exec::MapElement::kF32Ftz) : type;
}

// The parts that both kinds of map have. False: the hardware has no such map.
bool describe(exec::TensorMap* map, int host_type, uint32_t rank, const void* address, const uint64_t* shape,
              const uint64_t* strides, const uint32_t* steps, int interleave, int swizzle, int fill) {
  const int type = element_of(host_type);
  const int bits = exec::tensor_map_element_bits(type);
  if (rank < 1 || rank > 5 || bits == 0 || !shape || (rank > 1 && !strides) || !steps) return false;
  if (interleave < 0 || interleave > 2 || swizzle < 0 || swizzle > 6 || fill < 0 || fill > 1) return false;
  const auto at = reinterpret_cast<uint64_t>(address);
  if (at % (interleave == 2 ? 32 : 16)) return false;
  map->address = at, map->rank = static_cast<uint8_t>(rank), map->element_type = static_cast<uint8_t>(type);
  map->element_bytes = static_cast<uint8_t>(std::max(bits / 8, 1));
  // The host counts swizzles of other atomicities behind those of 16 bytes.
  map->swizzle = static_cast<uint8_t>(std::min(swizzle, 3)),
  map->swizzle_atomicity = static_cast<uint8_t>(swizzle > 3 ? swizzle - 3 : 0);
  map->interleave = static_cast<uint8_t>(interleave), map->nan_fill = static_cast<uint8_t>(fill);
  for (uint32_t d = 0; d < rank; ++d) {
    if (shape[d] == 0 || shape[d] > uint64_t{1} << 32 || steps[d] < 1 || steps[d] > 8) return false;
    map->shape[d] = static_cast<int64_t>(shape[d]);
    map->element_strides[d] = static_cast<uint8_t>(steps[d]);
    map->strides[d] = d == 0 ? bits / 8 : static_cast<int64_t>(strides[d - 1]);
    if (d > 0 && (strides[d - 1] % 16 || strides[d - 1] >> 40)) return false;
  }
  return true;
}

// The map may lie anywhere in the host's memory: cuda-core keeps its maps in Python objects.
Error write(void* out, const exec::TensorMap& map) {
  std::memset(out, 0, exec::kTensorMapBytes);
  std::memcpy(out, &map, sizeof map);
  return kSuccess;
}

}  // namespace

namespace call {

Error cuTensorMapEncodeTiled(void* out, int type, uint32_t rank, void* address, const uint64_t* shape,
                             const uint64_t* strides, const uint32_t* box, const uint32_t* steps,
                             int interleave, int swizzle, int promotion, int fill) {
  exec::TensorMap map;
  if (!out || !box || promotion < 0 || promotion > 3) return kInvalidValue;
  if (!describe(&map, type, rank, address, shape, strides, steps, interleave, swizzle, fill))
    return kInvalidValue;
  for (uint32_t d = 0; d < rank; ++d) {
    if (box[d] < 1 || box[d] > 256) return kInvalidValue;
    map.box[d] = static_cast<uint16_t>(box[d]);
  }
  return write(out, map);
}

Error cuTensorMapEncodeIm2col(void* out, int type, uint32_t rank, void* address, const uint64_t* shape,
                              const uint64_t* strides, const int* lower, const int* upper, uint32_t channels,
                              uint32_t pixels, const uint32_t* steps, int interleave, int swizzle,
                              int promotion, int fill) {
  exec::TensorMap map;
  if (!out || !lower || !upper || promotion < 0 || promotion > 3) return kInvalidValue;
  if (rank < 3 || channels < 1 || channels > 256 || pixels < 1 || pixels > 1024) return kInvalidValue;
  if (!describe(&map, type, rank, address, shape, strides, steps, interleave, swizzle, fill))
    return kInvalidValue;
  map.im2col = 1;
  map.box[0] = static_cast<uint16_t>(channels), map.box[1] = static_cast<uint16_t>(pixels);
  const int bits = map.corner_bits();
  for (uint32_t d = 0; d + 2 < rank; ++d) {
    const int least = -(1 << (bits - 1)), most = (1 << (bits - 1)) - 1;
    if (lower[d] < least || lower[d] > most || upper[d] < least || upper[d] > most) return kInvalidValue;
    const unsigned mask = (1u << bits) - 1;
    map.lower = static_cast<uint16_t>(map.lower | (static_cast<unsigned>(lower[d]) & mask)
                                                      << (d * static_cast<unsigned>(bits)));
    map.upper = static_cast<uint16_t>(map.upper | (static_cast<unsigned>(upper[d]) & mask)
                                                      << (d * static_cast<unsigned>(bits)));
  }
  return write(out, map);
}

Error cuTensorMapReplaceAddress(void* out, void* address) {
  if (!out || reinterpret_cast<uintptr_t>(address) % 16) return kInvalidValue;
  std::optional<exec::TensorMap> map = exec::read_tensor_map(static_cast<const std::byte*>(out));
  if (!map) return kInvalidValue;
  map->address = reinterpret_cast<uint64_t>(address);
  return write(out, *map);
}

}  // namespace call
}  // namespace triton_runner::driver
