// Folds an op (fold.h) by the functor that runs on tiles: one element of it.
#include <triton_runner/tile/fold.h>

#include <triton_runner/ir/op_table.h>

#include "ops/elementwise.h"

namespace triton_runner::tile {
namespace {

std::optional<num::Type> integer_type(const ir::Type& type) {
  const std::optional<num::Type> element = num::parse_type(type.number_name());
  return element && num::is_integer(*element) ? element : std::nullopt;
}

// By kind: the functor of its row, or the one that its handler has the name of.
const std::vector<const num::Elementwise*>& functors() {
  static const std::vector<const num::Elementwise*> all = [] {
    std::vector<const num::Elementwise*> found(1);
    for (const ir::OpInfo& info : ir::op_table()) {
      const OpRow& row = row_of(info.kind);
      found.push_back(row.elementwise ? row.elementwise : num::find_elementwise(row.handler));
    }
    return found;
  }();
  return all;
}

}  // namespace

std::optional<int64_t> fold_by(Folder& folder, const ir::Op& op, const num::Elementwise& functor) {
  if (op.num_operands() != functor.arity || op.results.size() != 1) return {};
  const auto to = integer_type(*op.result()->type);
  std::optional<num::Type> from;
  int64_t operands[3] = {}, out = 0;
  for (uint32_t i = 0; i < op.num_operands(); ++i) {
    from = integer_type(*op.operand(i)->type);
    const std::optional<int64_t> known = from && to ? folder.known(op.operand(i)) : std::nullopt;
    if (!known || (i == 1 && *known == 0 && op.does(ir::Effect::kDivides))) return {};
    operands[i] = *known;
  }
  if (!from) return {};
  const num::Kernel kernel = functor.kernel(*from, *to);
  if (!kernel) return {};
  kernel.loop(&out, &operands[0], &operands[1], &operands[2], 1);
  return held(out, *op.result()->type);
}

int64_t held(int64_t number, const ir::Type& type) {
  const std::optional<num::Type> element = integer_type(type);
  if (!element) return number;
  return *element == num::Type::kI1 ? number & 1 : num::sign_extend(static_cast<uint64_t>(number), *element);
}

std::optional<int64_t> fold(Folder& folder, const ir::Op& op) {
  if (op.kind == ir::OpKind::kUnknown) return {};
  if (const FoldFn own = row_of(op.kind).fold) return own(folder, op);
  const num::Elementwise* functor = functors()[static_cast<size_t>(op.kind)];
  return functor && op.does(ir::Effect::kElementwise) ? fold_by(folder, op, *functor) : std::nullopt;
}

}  // namespace triton_runner::tile
