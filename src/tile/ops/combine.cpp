// Applies a function of scalars to elements of an op's operands.
#include "ops/combine.h"

#include <algorithm>

namespace triton_runner::tile {

Axis axis_of(const TileType& ty, int64_t axis) {
  Axis a{1, ty.shape[axis], 1};
  for (int64_t d = 0; d < ty.rank; ++d) (d < axis ? a.outer : a.inner) *= d == axis ? 1 : ty.shape[d];
  return a;
}

bool needs_scalars(const ir::Region& region) {
  if (region.first->next) return true;
  for (const ir::Op* op = region.first->first; op; op = op->next) {
    if (!op->regions.empty() || op->kind == ir::OpKind::kCall) return true;
    for (const ir::Value& result : op->results)
      if (result.type->kind == ir::TypeKind::kTensor) return true;
  }
  return false;
}

Level make_level(Lowering& l, const ir::Region& region, int64_t n, std::vector<Slot>* operands,
                 const Places* places) {
  Lowering::VectorRegion r = l.vector_region(region, n, places);
  for (Slot s : r.captures)
    if (std::find(operands->begin(), operands->end(), s) == operands->end()) operands->push_back(s);
  return {n, std::move(r.args), std::move(r.results), l.instruction_at(r.entry)};
}

bool combine(Task& t, const Level& level, std::vector<Buffer*>& left, std::vector<Buffer*>& right,
             const std::vector<void*>& out) {
  size_t count = left.size();
  for (size_t i = 0; i < count; ++i) {
    t.adopt(level.args[i], left[i]);
    t.adopt(level.args[count + i], right[i]);
    left[i] = right[i] = nullptr;
  }
  if (!t.call(*level.entry)) return false;
  for (size_t i = 0; i < count; ++i)
    std::memcpy(out[i], t.dense(level.results[i]), t.type(level.results[i]).bytes);
  return true;
}

void give(Task& t, Slot result, const void* data) {
  const TileType& ty = t.type(result);
  if (ty.rank == 0)
    t.set_uniform_from(result, data);
  else
    std::memcpy(t.new_dense(result), data, ty.bytes);
}

}  // namespace triton_runner::tile
