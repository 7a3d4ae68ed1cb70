// tensormap.replace and tensormap.cp_fenceproxy: tensor maps that kernels write, in the engine's own format.
// PTX ISA 9.7.9.28, 9.7.13.15.18.
#include <triton_runner/exec/tensor_map.h>

#include <algorithm>
#include <cstring>

#include "ptx/addresses.h"
#include "ptx/lower.h"
#include "warp.h"

namespace triton_runner::simt {

using exec::TensorMap;
using ptx::Mod;

namespace {

struct Plan {
  AddressPlace map;
  bool shared = false;  // .shared::cta; else global or generic
  Mod field = Mod::kNone;
  uint32_t index = 0;  // dimension, innermost first
  uint32_t value = 0;  // place
  bool wide = false;   // .b64
  int stride_shift = 0;
};

bool invalid(Exec& x, const Operands& in, uint32_t lane, std::string message) {
  x.trap(in, exec::TrapKind::kInvalid, std::move(message), lane);
  return false;
}

// Small fields: the value must be below `limit`.
bool set(Exec& x, const Operands& in, uint32_t lane, const Plan& plan, uint64_t value, uint64_t limit,
         uint8_t* field) {
  if (value >= limit)
    return invalid(x, in, lane,
                   "." + std::string(ptx::text(plan.field)) + " cannot be " + std::to_string(value));
  *field = static_cast<uint8_t>(value);
  return true;
}

bool replace(Exec& x, const Operands& in, uint32_t lane, const Plan& plan, uint64_t value, TensorMap& map) {
  switch (plan.field) {
    case Mod::kGlobalAddress:
      map.address = value;
      return true;
    case Mod::kRank:  // one less than the number of dimensions
      if (value > 4)
        return invalid(x, in, lane, ".rank cannot be " + std::to_string(value) + ": it is 0 to 4");
      map.rank = static_cast<uint8_t>(value + 1);
      return true;
    case Mod::kBoxDim:
      if (value < 1 || value > 256)
        return invalid(x, in, lane, ".box_dim cannot be " + std::to_string(value) + ": it is 1 to 256");
      map.box[plan.index] = static_cast<uint16_t>(value);
      return true;
    case Mod::kGlobalDim:
      map.shape[plan.index] = static_cast<uint32_t>(value);
      return true;
    case Mod::kGlobalStride:  // of dimensions 1 and up
      map.strides[plan.index + 1] = static_cast<int64_t>(value << plan.stride_shift);
      return true;
    case Mod::kElementStride:
      return set(x, in, lane, plan, value, 9, &map.element_strides[plan.index]);
    case Mod::kElemtype:
      if (!set(x, in, lane, plan, value, 16, &map.element_type)) return false;
      map.element_bytes =
          static_cast<uint8_t>(std::max(1, exec::tensor_map_element_bits(map.element_type) / 8));
      return true;
    case Mod::kInterleaveLayout:
      return set(x, in, lane, plan, value, 3, &map.interleave);
    case Mod::kSwizzleMode:
      return set(x, in, lane, plan, value, 5, &map.swizzle);
    case Mod::kSwizzleAtomicity:
      return set(x, in, lane, plan, value, 4, &map.swizzle_atomicity);
    case Mod::kFillMode:
      return set(x, in, lane, plan, value, 2, &map.nan_fill);
    default:
      return true;
  }
}

void run_replace(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& plan = *static_cast<const Plan*>(in.data);
  for (uint32_t i = 0; i < x.count; i++) {
    if (!x.on(i)) continue;
    const uint64_t address = plan.map.at(x, i);
    std::byte* at = plan.shared ? x.shared(in, i, static_cast<uint32_t>(address), exec::kTensorMapBytes, true)
                                : x.generic(in, i, address, exec::kTensorMapBytes, true);
    if (!at) return;
    if (address % 64 != 0) {
      x.trap(in, exec::TrapKind::kMisaligned, "the tensor map is not aligned to 64 bytes", i, address,
             exec::kTensorMapBytes);
      return;
    }
    TensorMap map;
    std::memcpy(static_cast<void*>(&map), at, sizeof map);
    if (map.magic != 0 && map.magic != exec::kTensorMapMagic) {
      invalid(x, in, i, "the 128 bytes at the address are neither zeros nor a tensor map of this engine");
      return;
    }
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

struct CopyPlan {
  AddressPlace to, from;
};

// Once a warp: all its threads name the same.
void run_copy(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& plan = *static_cast<const CopyPlan*>(in.data);
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

}  // namespace

bool lower_tensormap(Lowering& l, const ptx::Instruction& in) {
  if (in.has(Mod::kCpFenceproxy)) {
    CopyPlan plan;
    int64_t bytes = 0;
    if (in.operands.size() != 3 || !address_place(l, in.operands[0], &plan.to) ||
        !address_place(l, in.operands[1], &plan.from) || !l.integer(in.operands[2], &bytes))
      return false;
    if (bytes != static_cast<int64_t>(exec::kTensorMapBytes))
      return l.error(in.operands[2].offset, "the size of a tensor map is 128");
    l.emit(run_copy).data = l.code.keep(plan);
    return true;
  }
  Plan plan;
  for (Mod m : {Mod::kGlobalAddress, Mod::kRank, Mod::kBoxDim, Mod::kGlobalDim, Mod::kGlobalStride,
                Mod::kElementStride, Mod::kElemtype, Mod::kInterleaveLayout, Mod::kSwizzleMode,
                Mod::kSwizzleAtomicity, Mod::kFillMode})
    if (in.has(m)) plan.field = m;
  if (plan.field == Mod::kNone) return l.error(in, "which field is to be replaced?");
  plan.shared = in.has(Mod::kSharedCta) || in.has(Mod::kShared);
  plan.wide = in.has(Mod::kB64);
  const bool has_index = plan.field == Mod::kBoxDim || plan.field == Mod::kGlobalDim ||
                         plan.field == Mod::kGlobalStride || plan.field == Mod::kElementStride;
  const size_t value = has_index ? 2 : 1;
  if (in.operands.size() <= value) return l.error(in, "needs the map's address and a value");
  if (!address_place(l, in.operands[0], &plan.map)) return false;
  if (has_index) {
    int64_t index = 0;
    if (!l.integer(in.operands[1], &index)) return false;
    const int64_t most = plan.field == Mod::kGlobalStride ? 3 : 4;
    if (index < 0 || index > most)
      return l.error(in.operands[1].offset,
                     "dimension " + std::to_string(index) + " is not one of 0 to " + std::to_string(most));
    plan.index = static_cast<uint32_t>(index);
  }
  // Triton passes strides in units of 16 bytes up to PTX ISA 8.5, as that ptxas takes them.
  if (plan.field == Mod::kGlobalStride && l.module.version() < "8.6") plan.stride_shift = 4;
  plan.value = l.place(in.operands[value], plan.wide ? Mod::kB64 : Mod::kB32);
  l.emit(run_replace).data = l.code.keep(plan);
  return true;
}

}  // namespace triton_runner::simt
