// Implements in_flight(): follows a value back to the op that made it, through loops and through waits that
// leave products pending.
#include "in_flight.h"

#include <set>

namespace triton_runner::probe {
namespace {

using ir::OpKind;

class ProductSearch {
 public:
  bool comes_of_product(const ir::Value& value) {
    if (!seen_.insert(&value).second) return false;  // round a loop, and nothing was found on the way
    const ir::Op* op = value.defining_op;
    if (!op) {
      const ir::Op* loop = value.block->region->parent;
      return loop && loop->kind == OpKind::kFor && value.index > 0 && is_yielded(*loop, value.index - 1);
    }
    if (op->does(ir::Effect::kTensorCore) && !op->does(ir::Effect::kWaits)) return op->is_async_dot();
    if (op->does(ir::Effect::kTensorCore))
      return op->int_attr("pendings", 0) > 0 && value.index < op->num_operands() &&
             comes_of_product(*op->operand(value.index));
    return op->kind == OpKind::kFor && is_yielded(*op, value.index);
  }

 private:
  bool is_yielded(const ir::Op& loop, uint32_t i) {
    const ir::Op* yield = loop.region()->first->last;
    return yield && yield->kind == OpKind::kYield && i < yield->num_operands() &&
           comes_of_product(*yield->operand(i));
  }

  std::set<const ir::Value*> seen_;
};

}  // namespace

bool in_flight(const ir::Value& value) { return ProductSearch().comes_of_product(value); }

}  // namespace triton_runner::probe
