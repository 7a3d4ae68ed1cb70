// Lowers tensormap.replace and tensormap.cp_fenceproxy. See PTX ISA 9.7.9.28, 9.7.13.15.18.
#include "async/tensormap.h"

#include <triton_runner/exec/tensor_map.h>

#include "front/ptx/addresses.h"

namespace triton_runner::simt {

using ptx::Mod;

namespace {

constexpr std::pair<Mod, MapField> kFields[] = {
    {Mod::kGlobalAddress, MapField::kGlobalAddress},
    {Mod::kRank, MapField::kRank},
    {Mod::kBoxDim, MapField::kBoxDim},
    {Mod::kGlobalDim, MapField::kGlobalDim},
    {Mod::kGlobalStride, MapField::kGlobalStride},
    {Mod::kElementStride, MapField::kElementStride},
    {Mod::kElemtype, MapField::kElemtype},
    {Mod::kInterleaveLayout, MapField::kInterleaveLayout},
    {Mod::kSwizzleMode, MapField::kSwizzleMode},
    {Mod::kSwizzleAtomicity, MapField::kSwizzleAtomicity},
    {Mod::kFillMode, MapField::kFillMode},
};

}  // namespace

bool lower_tensormap(Lowering& l, const ptx::Instruction& in) {
  if (in.has(Mod::kCpFenceproxy)) {
    MapCopyPlan plan;
    int64_t bytes = 0;
    if (in.operands.size() != 3 || !address_place(l, in.operands[0], &plan.to) ||
        !address_place(l, in.operands[1], &plan.from) || !l.integer(in.operands[2], &bytes))
      return false;
    if (bytes != static_cast<int64_t>(exec::kTensorMapBytes))
      return l.fail(in.operands[2].offset, "the size of a tensor map is 128");
    return l.emit<run_map_copy>(plan);
  }
  MapReplacePlan plan;
  for (const auto& [mod, field] : kFields)
    if (in.has(mod)) plan.field = field, plan.name = ptx::text(mod);
  if (plan.field == MapField::kNone) return l.fail(in, "which field is to be replaced?");
  plan.shared = in.has(Mod::kSharedCta) || in.has(Mod::kShared);
  plan.wide = in.has(Mod::kB64);
  const bool has_index = plan.field == MapField::kBoxDim || plan.field == MapField::kGlobalDim ||
                         plan.field == MapField::kGlobalStride || plan.field == MapField::kElementStride;
  const size_t value = has_index ? 2 : 1;
  if (in.operands.size() <= value) return l.fail(in, "needs the map's address and a value");
  if (!address_place(l, in.operands[0], &plan.map)) return false;
  if (has_index) {
    int64_t index = 0;
    if (!l.integer(in.operands[1], &index)) return false;
    const int64_t most = plan.field == MapField::kGlobalStride ? 3 : 4;
    if (index < 0 || index > most)
      return l.fail(in.operands[1].offset,
                    "dimension " + std::to_string(index) + " is not one of 0 to " + std::to_string(most));
    plan.index = static_cast<uint32_t>(index);
  }
  // Triton passes strides in units of 16 bytes up to PTX ISA 8.5, as that ptxas takes them.
  if (plan.field == MapField::kGlobalStride && l.module.version() < "8.6") plan.stride_shift = 4;
  plan.value = l.place(in.operands[value], plan.wide ? Mod::kB64 : Mod::kB32);
  l.addresses_by(plan.value);
  return l.emit<run_map_replace>(plan);
}

}  // namespace triton_runner::simt
