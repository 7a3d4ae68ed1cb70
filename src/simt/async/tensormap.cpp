// Writes the fields of a tensor map that a kernel may replace, and copies maps between shared and global
// memory.
#include "async/tensormap.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/exec/tensor_map.h>

#include "state/refuse.h"

namespace triton_runner::simt {

using exec::TensorMap;

namespace {

// Small fields: the value must be below `limit`.
bool set(Exec& x, const Operands& in, uint32_t lane, const MapReplacePlan& plan, uint64_t value,
         uint64_t limit, uint8_t* field) {
  if (value >= limit) return invalid(x, in, lane, "." + plan.name + " cannot be " + std::to_string(value));
  *field = static_cast<uint8_t>(value);
  return true;
}

bool replace(Exec& x, const Operands& in, uint32_t lane, const MapReplacePlan& plan, uint64_t value,
             TensorMap& map) {
  switch (plan.field) {
    case MapField::kGlobalAddress:
      map.address = value;
      return true;
    case MapField::kRank:  // one less than the number of dimensions
      if (value > 4)
        return invalid(x, in, lane, ".rank cannot be " + std::to_string(value) + ": it is 0 to 4");
      map.rank = static_cast<uint8_t>(value + 1);
      return true;
    case MapField::kBoxDim:
      if (value < 1 || value > 256)
        return invalid(x, in, lane, ".box_dim cannot be " + std::to_string(value) + ": it is 1 to 256");
      map.box[plan.index] = static_cast<uint16_t>(value);
      return true;
    case MapField::kGlobalDim:
      map.shape[plan.index] = static_cast<uint32_t>(value);
      return true;
    case MapField::kGlobalStride:  // of dimensions 1 and up
      map.strides[plan.index + 1] = static_cast<int64_t>(value << plan.stride_shift);
      return true;
    case MapField::kElementStride:
      return set(x, in, lane, plan, value, 9, &map.element_strides[plan.index]);
    case MapField::kElemtype:
      if (!set(x, in, lane, plan, value, 16, &map.element_type)) return false;
      map.element_bytes =
          static_cast<uint8_t>(std::max(1, exec::tensor_map_element_bits(map.element_type) / 8));
      return true;
    case MapField::kInterleaveLayout:
      return set(x, in, lane, plan, value, 3, &map.interleave);
    case MapField::kSwizzleMode:
      return set(x, in, lane, plan, value, 5, &map.swizzle);
    case MapField::kSwizzleAtomicity:
      return set(x, in, lane, plan, value, 4, &map.swizzle_atomicity);
    case MapField::kFillMode:
      return set(x, in, lane, plan, value, 2, &map.nan_fill);
    default:
      return true;
  }
}

}  // namespace

void run_map_replace(Exec& x, const Operands& in, const MapReplacePlan& plan) {
  for (uint32_t i : x.lanes()) {
    const uint64_t address = plan.map.at(x, i);
    std::byte* at = plan.shared ? x.shared(in, i, static_cast<uint32_t>(address), exec::kTensorMapBytes, true)
                                : x.generic(in, i, address, exec::kTensorMapBytes, true);
    if (!at) return;
    if (address % 64 != 0)
      return x.trap(in, exec::TrapKind::kMisaligned, "the tensor map is not aligned to 64 bytes", i, address,
                    exec::kTensorMapBytes);
    TensorMap map;
    std::memcpy(static_cast<void*>(&map), at, sizeof map);
    if (map.magic != 0 && map.magic != exec::kTensorMapMagic)
      return x.trap(in, exec::TrapKind::kInvalid,
                    "the 128 bytes at the address are neither zeros nor a tensor map of this engine", i);
    if (map.magic == 0) {
      // Zeros mean something: one dimension, of u8. Kernels do not replace fields that are to be 0.
      map.rank = 1;
      map.element_bytes = 1;
    }
    map.magic = exec::kTensorMapMagic;
    const uint64_t value = plan.wide ? x.reg<uint64_t>(plan.value)[i] : x.reg<uint32_t>(plan.value)[i];
    if (!replace(x, in, i, plan, value, map)) return;
    std::memcpy(at, &map, sizeof map);
  }
}

// Once a warp: all its threads name the same.
void run_map_copy(Exec& x, const Operands& in, const MapCopyPlan& plan) {
  if (!x.converged(instr_of(in))) return;
  for (uint32_t w = 0; w < x.count; w += 32) {
    const uint32_t on = warp_bits(x, w);
    if (!on) continue;
    const uint32_t i = w + static_cast<uint32_t>(__builtin_ctz(on));
    const std::byte* from =
        x.shared(in, i, static_cast<uint32_t>(plan.from.at(x, i)), exec::kTensorMapBytes, false);
    if (!from) return;
    const uint64_t address = plan.to.at(x, i);
    std::byte* to = x.global(in, i, address, exec::kTensorMapBytes, true);
    if (!to) return;
    std::memcpy(to, from, exec::kTensorMapBytes);
  }
}

}  // namespace triton_runner::simt
