// Lowers cp.async.bulk.tensor and cp.reduce.async.bulk.tensor. See PTX ISA 9.7.9.27.
#include "async/tma.h"

#include "front/ptx/addresses.h"
#include "front/ptx/async.h"
#include "front/ptx/atomics.h"
#include "ops/barrier.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;

namespace {

int rank_of(const ptx::Instruction& in) {
  const Mod ranks[5] = {Mod::k1d, Mod::k2d, Mod::k3d, Mod::k4d, Mod::k5d};
  for (int r = 0; r < 5; r++)
    if (in.has(ranks[r])) return r + 1;
  return 0;
}

// {offsets}: one for each dimension between channels and images.
bool lower_offsets(Lowering& l, const ptx::Instruction& in, size_t index, BoxPlan& plan) {
  const size_t wanted = static_cast<size_t>(plan.rank - 2);
  if (index >= in.operands.size()) return l.fail(in, "a copy in im2col mode needs its offsets");
  const auto parts = parts_of(in.operands[index]);
  if (parts.size() != wanted)
    return l.fail(in.operands[index].offset, "a copy of rank " + std::to_string(plan.rank) +
                                                 " in im2col mode has " + std::to_string(wanted) +
                                                 " offsets");
  for (const ptx::Operand& part : parts) plan.offsets.push_back(l.place(part, Mod::kU16));
  return true;
}

// [map, {coordinates}]
bool lower_box(Lowering& l, const ptx::Instruction& in, const ptx::Operand& operand, BoxPlan& plan) {
  if (operand.kind != OperandKind::kAddress || operand.parts.size() < 2 ||
      operand.parts[1].kind != OperandKind::kVector)
    return l.fail(operand.offset, "expected a tensor map and coordinates: [map, {x, y}]");
  if (!address_place(l, operand, &plan.map)) return false;
  plan.rank = rank_of(in);
  plan.mode = in.has(Mod::kTileGather4) || in.has(Mod::kTileScatter4) ? BoxMode::kGather
              : in.has(Mod::kIm2col) || in.has(Mod::kIm2colNoOffs)    ? BoxMode::kIm2col
                                                                      : BoxMode::kTile;
  if (plan.mode == BoxMode::kIm2col && plan.rank < 3)
    return l.fail(in, "im2col mode is for tensors of 3 to 5 dimensions");
  const auto coordinates = operand.parts[1].parts;
  const size_t wanted = plan.mode == BoxMode::kGather ? 5 : static_cast<size_t>(plan.rank);
  if (coordinates.size() != wanted)
    return l.fail(operand.offset, std::to_string(coordinates.size()) + " coordinates, where " +
                                      std::to_string(wanted) + " are needed");
  for (const ptx::Operand& c : coordinates) {
    plan.coordinates.push_back(l.place(c, Mod::kS32));
    l.addresses_by(plan.coordinates.back());
  }
  return true;
}

}  // namespace

bool lower_bulk_tensor(Lowering& l, const ptx::Instruction& in) {
  for (Mod m : {Mod::kIm2colW, Mod::kIm2colW128})
    if (in.has(m)) return l.fail(in, "." + std::string(ptx::text(m)) + " is not executed");
  if (in.has(Mod::kPrefetch)) return l.emit(nothing, {});
  if (in.operands.size() < 2) return l.fail(in, "needs a tensor map with coordinates, and a shared address");
  BoxPlan plan;
  const bool load = in.operands[1].kind == OperandKind::kAddress && in.operands[1].parts.size() >= 2;
  if (!lower_box(l, in, in.operands[load ? 1 : 0], plan) ||
      !address_place(l, in.operands[load ? 0 : 1], &plan.shared))
    return false;
  if (!load) {
    if (in.has(Mod::kReduce)) {
      plan.reduction = atomic_op(operation_of(in));
      if (plan.reduction == AtomicOp::kNone) return l.fail(in, "a reduction without an operation");
    }
    return l.emit<run_box_store>(plan);
  }
  if (in.operands.size() < 3 || !address_place(l, in.operands[2], &plan.barrier))
    return l.fail(in, "needs the mbarrier that counts its bytes");
  plan.pair = in.has(Mod::kCtaGroup2);
  size_t next = 3;
  if (plan.mode == BoxMode::kIm2col && !lower_offsets(l, in, next++, plan)) return false;
  if (in.has(Mod::kMulticastCluster)) {
    if (in.operands.size() <= next) return l.fail(in, ".multicast::cluster needs a mask of blocks");
    plan.cta_mask = l.place(in.operands[next], Mod::kB16);
  }
  return l.emit<run_box_load>(plan);
}

}  // namespace triton_runner::simt
