// Lowers ttg.local_atomic_scatter_rmw: atomic updates of shared memory at indices along one dimension,
// elements in order (in another one where the launch is shuffled).
#include "machine/memdesc.h"
#include "machine/shared_state.h"
#include "ops/atomics.h"

namespace triton_runner::tile {
namespace {

struct Scatter {
  const MemView* view;
  int axis;
  Rmw kind;
};

bool run_local_atomic_scatter(Task& t, const Instr& in, const Scatter& s) {
  const TileType& type = t.type(in.result());
  const Elements values(t, in.operand(1));
  Picked picked(t, in, *s.view, s.axis, mem_desc(t, in.operand(0)), in.operand(2));
  const std::optional<Elements> mask =
      in.num_operands > 3 ? std::optional<Elements>(std::in_place, t, in.operand(3)) : std::nullopt;
  auto* out = t.new_dense<std::byte>(in.result());
  return each_element(t, type.n, [&](int64_t i) {
    uint64_t old = 0;
    if (!mask || (*mask)[i]) {
      const std::byte* p = picked.at(i);
      if (!p) return false;
      old = atomic_rmw(s.kind, type.element, reinterpret_cast<uint64_t>(p), values[i]);
    }
    num::store_bits(out + i * type.size, type.element, old);
    return true;
  });
}

}  // namespace

void lower_local_atomic_scatter_rmw(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of("dst"), op);
  if (!view) return;
  const auto kind = op.enum_attr<Rmw>("atomic_rmw_op");
  const TileType &values = *l.type_of(op.operand_of("values")),
                 &indices = *l.type_of(op.operand_of("indices"));
  const int axis = static_cast<int>(op.int_attr("axis", 0));
  if (!is_known(kind)) return l.fail(op, "an atomic without a known operation");
  if (!view->leading.empty() || axis < 0 || axis >= static_cast<int>(view->shape.size()))
    return l.fail(op, "updating along a dimension that the encoding does not cover");
  if (values.element != view->element || values.shape != indices.shape || !num::is_integer(indices.element) ||
      values.shape.size() != view->shape.size() || l.type_of(op.result())->shape != values.shape)
    return l.fail(op, "values and indices that do not fit the buffer");
  for (size_t d = 0; d < view->shape.size(); d++)
    if (static_cast<int>(d) != axis && values.shape[d] > view->shape[d])
      return l.fail(op, "values and indices that are larger than the buffer");
  l.emit<run_local_atomic_scatter>(op, l.make<Scatter>(view, axis, kind));
}

}  // namespace triton_runner::tile
