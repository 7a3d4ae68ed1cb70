// Computes the rows of boxes, their swizzled places, and the bits that stand outside of a tensor; loads and
// stores them. When that happens is decided in tma_ops.cpp.
#include "async/tma.h"

#include <algorithm>
#include <cstring>

namespace triton_runner::simt {
namespace {

using exec::MapElement;
using exec::MapSwizzle;

// By MapSwizzle.
constexpr uint32_t kSwizzleSpan[5] = {0, 32, 64, 128, 96};

bool is_float(MapElement element) { return element >= MapElement::kF16 && element <= MapElement::kTf32Ftz; }

// Does what loads do to values on their way: f32.ftz takes subnormals for zeros, tf32 rounds.
void convert(MapElement element, std::byte* data, uint32_t bytes) {
  const bool ftz = element == MapElement::kF32Ftz || element == MapElement::kTf32Ftz;
  const bool tf32 = element == MapElement::kTf32 || element == MapElement::kTf32Ftz;
  if (!ftz && !tf32) return;
  for (uint32_t i = 0; i < bytes; i += 4) {
    uint32_t v;
    std::memcpy(&v, data + i, 4);
    if (ftz && (v & 0x7f800000) == 0) v &= 0x80000000;
    if (tf32) v = exec::rounded_to_tf32(v);
    std::memcpy(data + i, &v, 4);
  }
}

// Pixels of a box in im2col mode: as many as box[1] says.
std::string prepare_column(TensorBox& box) {
  const exec::TensorMap& map = box.map;
  if (map.element() >= MapElement::kB4x16)
    return "im2col mode is not executed for elements of less than a byte";
  if (map.box[0] > 256 || map.box[1] < 1 || map.box[1] > 1024)
    return "a column of " + std::to_string(map.box[1]) + " pixels and " + std::to_string(map.box[0]) +
           " channels: 1 to 1024 and 1 to 256 are possible";
  exec::PixelColumn& column = box.place.column.emplace();
  column.axes = box.rank - 1;
  for (int d = 0; d < column.axes; d++) {
    column.first[d] = box.at[d + 1];
    column.step[d] = std::max<int64_t>(1, map.element_strides[d + 1]);
    if (d + 1 == column.axes) break;
    column.offset[d] = box.offsets[d] & ((1u << map.corner_bits()) - 1);
    column.lower[d] = map.lower_corner(d);
    column.end[d] = map.shape[d + 1] + map.upper_corner(d);
  }
  column.channel_bytes = int64_t{box.at[0]} * box.global_unit;
  box.rows = map.box[1];
  return column.fault();
}

// Calls f(byte in the row, byte in shared memory, bytes) for pieces that stay together.
template <class F>
void each_piece(const TensorBox& box, uint32_t start, uint32_t row, F f) {
  const uint32_t bytes = box.row_bytes(), offset = row * bytes;
  if (box.map.swizzling() == MapSwizzle::kNone) return f(0, start + offset, bytes);
  for (uint32_t at = 0; at < bytes; at += 16)
    f(at, swizzled(box.map, start, offset + at), 16u);  // whole ones
}

}  // namespace

uint32_t swizzled(const exec::TensorMap& map, uint32_t start, uint32_t offset) {
  const uint32_t a = start + offset;
  switch (map.swizzling()) {
    case MapSwizzle::k32:
      return a ^ (a >> 3 & 0x10);
    case MapSwizzle::k64:
      return a ^ (a >> 3 & 0x30);
    case MapSwizzle::k128:
      if (map.swizzle_atomicity == 1) return a ^ (a >> 2 & 0x60);  // 32 bytes stay together
      return a ^ (a >> 3 & 0x70);
    default:
      return a;
  }
}

std::string prepare_box(TensorBox& box, int rank, BoxMode mode) {
  const exec::TensorMap& map = box.map;
  const int bits = exec::tensor_map_element_bits(map.element_type);
  if (map.element_bytes == 0 || bits == 0 || map.box[0] == 0)
    return "the tensor map does not say element type and box: it was not made for PTX";
  if (map.rank != rank)
    return "the tensor map has rank " + std::to_string(map.rank) + ", the instruction " +
           std::to_string(rank);
  if ((map.im2col != 0) != (mode == BoxMode::kIm2col))
    return map.im2col ? "the tensor map is in im2col mode, and the instruction is not"
                      : "the instruction is in im2col mode, and the tensor map is tiled";
  if (map.interleave != 0) return "interleaved layouts are not executed";
  if (map.swizzling() > MapSwizzle::k128) return "the 96-byte swizzle is not executed";
  if (map.swizzling() == MapSwizzle::k128 && map.swizzle_atomicity > 1)
    return "swizzle atomicity " + std::to_string(map.swizzle_atomicity) + " is not executed";
  if (map.address % 16 != 0) return "the tensor's address is not a multiple of 16 bytes";
  box.rank = rank;
  box.mode = mode;
  const bool packed = map.element() >= MapElement::kB4x16;
  const int unit = packed ? 16 : 1;
  box.global_unit = static_cast<uint32_t>(unit * bits / 8);
  box.shared_unit =
      map.element() == MapElement::kB4x16P64 || map.element() == MapElement::kB6x16P32 ? 16 : box.global_unit;
  if (map.box[0] % unit != 0 || box.at[0] % unit != 0)
    return "boxes of this element type begin and end at multiples of 16 elements";
  box.at[0] /= unit;
  box.row_units = map.box[0] / unit;
  if (box.row_bytes() % 16 != 0)
    return "a row of the box has " + std::to_string(box.row_bytes()) + " bytes, not a multiple of 16";
  if (map.swizzling() != MapSwizzle::kNone && box.row_bytes() > kSwizzleSpan[map.swizzle])
    return "a row of the box has " + std::to_string(box.row_bytes()) + " bytes, more than the swizzle's " +
           std::to_string(kSwizzleSpan[map.swizzle]);
  if (map.element_strides[0] > 1 && mode != BoxMode::kIm2col)
    return "a traversal stride along dimension 0 is not executed";
  for (int d = 1; d < rank; d++)
    if (map.strides[d] % 16 != 0)
      return "the stride of dimension " + std::to_string(d) + " is " + std::to_string(map.strides[d]) +
             " bytes, not a multiple of 16";
  machine::Box& place = box.place;
  place.rank = rank;
  place.base = map.address;
  place.width = box.row_units;
  for (int d = 0; d < rank; d++) {
    place.shape[d] = d == 0 ? (map.shape[0] + unit - 1) / unit : map.shape[d];
    place.strides[d] = d == 0 ? box.global_unit : map.strides[d];
    place.at[d] = box.at[d];
    place.steps[d] = std::max<int64_t>(1, map.element_strides[d]);
  }
  if (mode == BoxMode::kIm2col) return prepare_column(box);
  box.rows = 1;
  for (int d = 1; d < rank; d++) {
    if (map.box[d] == 0 || map.box[d] > 256)
      return "the box has " + std::to_string(map.box[d]) + " elements along dimension " + std::to_string(d) +
             ": 1 to 256 are possible";
    place.counts[d] = (map.box[d] + place.steps[d] - 1) / place.steps[d];
    box.rows *= static_cast<uint32_t>(place.counts[d]);
  }
  if (mode != BoxMode::kGather) return {};
  if (rank != 2) return "rows are gathered and scattered in tensors of rank 2";
  if (box.rows != 1) return "the box of a gather or scatter has one row";
  box.rows = 4;
  place.gathers = true;
  std::copy(box.gathered, box.gathered + 4, place.gathered);
  return {};
}

machine::BoxRow stored_row(const TensorBox& box, machine::BoxRow row) {
  constexpr int64_t kChunk = 16;
  // An H200 was asked about tiles of whole bytes.
  if (box.exact_tails || row.begin == row.end || box.mode != BoxMode::kTile ||
      box.map.element() >= MapElement::kB4x16)
    return row;
  const int64_t bytes = (row.end * box.global_unit + kChunk - 1) / kChunk * kChunk;
  row.end = std::min<int64_t>(bytes / box.global_unit, box.row_units);
  return row;
}

void load_box(const TensorBox& box, std::byte* shared, uint32_t start) {
  alignas(16) std::byte row[4096];
  const uint32_t unit = box.shared_unit, source = box.global_unit, bytes = box.row_bytes();
  const uint64_t nan = box.map.nan_fill && is_float(box.map.element()) ? machine::kNanFill : 0;
  machine::BoxRows rows(box.place);
  for (uint32_t r = 0; r < box.rows; r++) {
    const machine::BoxRow whole = rows.next(), t = box.accessed.empty() ? whole : box.accessed[r];
    if (t.end - t.begin < box.row_units || unit != source) {
      std::memset(row, 0, bytes);
      for (uint32_t i = 0; nan && i < box.row_units; i++)
        if (i < whole.begin || i >= whole.end) std::memcpy(row + i * unit, &nan, unit);
    }
    const auto* from = reinterpret_cast<const std::byte*>(t.address);
    if (unit == source) {
      if (t.end > t.begin) std::memcpy(row + t.begin * unit, from, (t.end - t.begin) * unit);
    } else {
      for (int64_t i = t.begin; i < t.end; i++, from += source) std::memcpy(row + i * unit, from, source);
    }
    convert(box.map.element(), row + t.begin * unit, (t.end - t.begin) * unit);
    each_piece(box, start, r,
               [&](uint32_t at, uint32_t to, uint32_t n) { std::memcpy(shared + to, row + at, n); });
  }
}

void store_box(const TensorBox& box, const std::byte* shared, uint32_t start, Update update) {
  alignas(16) std::byte row[4096];
  const uint32_t unit = box.shared_unit, target = box.global_unit;
  machine::BoxRows rows(box.place);
  for (uint32_t r = 0; r < box.rows; r++) {
    const machine::BoxRow whole = rows.next();
    const machine::BoxRow t = box.accessed.empty() ? stored_row(box, whole) : box.accessed[r];
    if (t.begin == t.end) continue;
    each_piece(box, start, r,
               [&](uint32_t at, uint32_t from, uint32_t n) { std::memcpy(row + at, shared + from, n); });
    auto* to = reinterpret_cast<std::byte*>(t.address);
    if (!update && unit == target) {
      std::memcpy(to, row + t.begin * unit, (t.end - t.begin) * unit);
      continue;
    }
    for (int64_t i = t.begin; i < t.end; i++, to += target) {
      if (!update) {
        std::memcpy(to, row + i * unit, target);
        continue;
      }
      uint64_t value = 0;
      std::memcpy(&value, row + i * unit, unit);
      update(to, value, 0);
    }
  }
}

}  // namespace triton_runner::simt
