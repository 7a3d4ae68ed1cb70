// Contracts sums of products as the compiler does (Triton's enable_fp_fusion): a sum or difference takes a
// product of the same stretch of straight-line code unrounded, whatever else uses that product.
//
// LLVM does so while it chooses instructions, a thread's registers at a time. What only moves elements to where a
// tensor of another shape has them (tt.splat, tt.broadcast, a change of layouts that leaves registers where they are)
// is nothing at all by then, and the sign of a product goes into the fused multiply-add.
#include <algorithm>
#include <bit>
#include <unordered_map>
#include <vector>

#include "hardware/functions.h"
#include "hardware/order.h"
#include "lowering.h"
#include "machine/asm_program.h"
#include "machine/threads.h"
#include "ops/elementwise.h"

namespace triton_runner::tile {
namespace {

// An operand that is a product, or a quotient that ends in one: through ops that leave registers alone, outermost last.
struct Product {
  const ir::Op* op = nullptr;
  std::vector<const ir::Op*> through;
  bool minus = false;
  explicit operator bool() const { return op != nullptr; }
};

bool is_functor(const ir::Op& op, const num::Elementwise& f) { return row_of(op.kind).elementwise == &f; }

// The images of registers in any order, and those of lanes, warps and blocks in theirs.
bool same_threads(const ir::Type& a, const ir::Type& b) {
  const auto la = layout_of(a), lb = layout_of(b);
  if (!la || !lb) return false;
  for (const char* dim : {"lane", "warp", "block"})
    if (!std::ranges::equal(bases_of(*la, dim), bases_of(*lb, dim))) return false;
  auto registers = [&](const layout::LinearLayout& l) {
    const auto all = bases_of(l, "register");
    std::vector<layout::Basis> out(all.begin(), all.end());
    std::erase_if(out, is_copy);
    std::ranges::sort(out);
    return out;
  };
  return registers(*la) == registers(*lb);
}

bool leaves_registers(const ir::Op& op) {
  if (!op.does(ir::Effect::kMoves) || op.num_operands() != 1 || op.results.size() != 1 || !op.regions.empty())
    return false;
  const ir::Type &from = *op.operand(0)->type, &to = *op.result()->type;
  if (from.scalar()->number_name() != to.scalar()->number_name() ||
      from.scalar()->kind != ir::TypeKind::kFloat)
    return false;
  if (row_of(op.kind).hardware == &hardware_reshape) return true;
  // With one shape it may be a change of layouts.
  return !from.encoding || !std::ranges::equal(from.shape, to.shape) || same_threads(from, to);
}

// In which order LLVM has the operands of a sum (its reassociation): what is computed from later accesses and calls comes
// second. A rank is that of the last such instruction that a value depends on, and how many operations lie between.
class Ranks {
 public:
  Ranks(const ir::Region& region, int64_t threads) : threads_(threads) { number(region); }

  int64_t of(const ir::Value& v) const {
    if (const auto found = known_.find(&v); found != known_.end()) return found->second;
    const ir::Op* op = v.defining_op;
    if (!op) return 0;
    int64_t rank = 0;
    for (const ir::Use& use : op->operand_uses) rank = std::max(rank, of(*use.value));
    const bool is_nothing =
        leaves_registers(*op) || op->does(ir::Effect::kGenerates) || is_functor(*op, num::elementwise_negf);
    return known_[&v] = is_nothing ? rank : rank + 1;
  }

 private:
  static constexpr int64_t kBlock = 1 << 16;

  // Instructions that stay where they are: accesses and calls.
  static bool stays(const ir::Op& op) {
    if (op.does(ir::Effect::kGenerates) || leaves_registers(op)) return false;
    return !op.does(ir::Effect::kElementwise) || op.does(ir::Effect::kApproximates);
  }

  void number(const ir::Region& region) {
    next_ = (next_ / kBlock + 1) * kBlock;
    for (const ir::Block* b = region.first; b; b = b->next) {
      for (const ir::Value& arg : b->args) known_[&arg] = ++next_;
      for (const ir::Op* op = b->first; op; op = op->next) {
        if (!stays(*op)) continue;
        const bool applies = op->does(ir::Effect::kApplies);
        for (const ir::Region* inner : op->regions)
          if (!applies) number(*inner);
        if (!op->regions.empty() && !applies) next_ = (next_ / kBlock + 1) * kBlock;
        for (const ir::Value& v : op->results) known_[&v] = next_ + 1;
        const ir::Type* type = op->results.empty() ? nullptr : op->results[0].type;
        const bool is_tensor = type && type->kind == ir::TypeKind::kTensor;
        next_ += is_tensor ? std::max<int64_t>(1, type->num_elements() / threads_) : 1;
      }
    }
  }

  int64_t threads_, next_ = 0;
  mutable std::unordered_map<const ir::Value*, int64_t> known_;
};

// The parts that divide a stretch of straight-line code: for LLVM loops, branches and functions that jump; for ptxas
// also what it jumps over, accesses under a mask.
enum class Stretch : uint8_t { kLlvm, kPtxas };

class Contractions {
 public:
  Contractions(Lowering& l, const Ranks& ranks) : l_(l), ranks_(ranks) {}

  void region(const ir::Region& r) {
    for (const ir::Block* b = r.first; b; b = b->next) {
      for (const ir::Op* op = b->first; op; op = op->next) {
        for (const ir::Region* inner : op->regions) region(*inner);
        visit(*op);
      }
    }
  }

 private:
  bool divides(const ir::Op& op, Stretch stretch) {
    const bool applies = op.does(ir::Effect::kApplies);  // its region becomes part of the code around it
    if (!op.regions.empty() && !applies) return true;
    if (row_of(op.kind).hardware == &hardware_library) return library_jumps(l_, op);
    if (stretch == Stretch::kLlvm) return false;
    const bool accesses =
        op.does(ir::Effect::kLoads) || op.does(ir::Effect::kStores) || op.does(ir::Effect::kAtomics);
    if (!accesses) return false;
    return op.operand_of("mask") != nullptr || op.does(ir::Effect::kAtomics) ||
           (op.does(ir::Effect::kStores) && op.operand(0)->type->kind != ir::TypeKind::kTensor);
  }

  bool one_stretch(const ir::Op& from, const ir::Op& to, Stretch stretch) {
    for (const ir::Op* op = from.next; op && op != &to; op = op->next)
      if (divides(*op, stretch)) return false;
    return true;
  }

  // `v` as a product by `f` in the block of `sum`, unrounded until there.
  Product product(const ir::Value& v, const ir::Op& sum, const num::Elementwise& f) {
    Product out;
    for (const ir::Value* at = &v; at->defining_op && at->defining_op->block == sum.block;) {
      const ir::Op& op = *at->defining_op;
      if (is_functor(op, f)) {
        const bool is_product = &f == &num::elementwise_mulf;
        if (!is_product && row_of(op.kind).hardware != &hardware_divf) return {};
        if (!one_stretch(op, sum, is_product ? Stretch::kLlvm : Stretch::kPtxas)) return {};
        out.op = &op;
        std::ranges::reverse(out.through);
        return out;
      }
      if (is_functor(op, num::elementwise_negf))
        out.minus = !out.minus;
      else if (leaves_registers(op))
        out.through.push_back(&op);
      else
        break;
      at = op.operand(0);
    }
    return {};
  }

  // Returns how many instructions use a thread's register of it.
  size_t uses(const ir::Value& v) const {
    size_t count = 0;
    for (const ir::Use* use = v.first_use; use; use = use->next)
      count += leaves_registers(*use->user) ? uses(*use->user->result()) : 1;
    return count;
  }

  static bool is_sum(const ir::Op& op) {
    return is_functor(op, num::elementwise_addf) || is_functor(op, num::elementwise_subf);
  }

  // Returns whether all that uses a quotient are sums that have no other product to take: ptxas contracts it
  // with all of them or with none.
  bool only_sums(const ir::Value& v, const ir::Op& quotient) {
    for (const ir::Use* use = v.first_use; use; use = use->next) {
      const ir::Op& user = *use->user;
      if (leaves_registers(user)) {
        if (!only_sums(*user.result(), quotient)) return false;
        continue;
      }
      if (!is_sum(user) || user.operand(0) == user.operand(1)) return false;
      const ir::Value& rest = *user.operand(1 - use->operand_index);
      if (product(rest, user, num::elementwise_mulf)) return false;
      if (product(v, user, num::elementwise_divf).op != &quotient) return false;
      if (use->operand_index == 1 && product(rest, user, num::elementwise_divf)) return false;
    }
    return true;
  }

  void visit(const ir::Op& op) {
    if (is_sum(op)) return sum(op, is_functor(op, num::elementwise_subf));
    if (row_of(op.kind).hardware == &hardware_reduce) reduction(op);
  }

  void sum(const ir::Op& op, bool subtracts) {
    Product products[2];
    for (uint32_t i = 0; i < 2; ++i) products[i] = product(*op.operand(i), op, num::elementwise_mulf);
    if (products[0].op && products[0].op == products[1].op) return;  // twice the same: it is rounded
    if (!products[0] && !products[1]) return quotient(op, subtracts);
    uint32_t taken = products[0] ? 0 : 1;
    if (products[0] && products[1]) {
      // The first of the two, unless the other one is used less.
      if (!subtracts && ranks_.of(*op.operand(1)) < ranks_.of(*op.operand(0))) taken = 1;
      if (uses(*products[taken].op->result()) > uses(*products[1 - taken].op->result())) taken = 1 - taken;
    }
    const Product p = products[taken];
    l_.replace(op, [=, &l = l_](const ir::Op& o) {
      const num::Type type = l.type_of(o.result())->element;
      l.emit(run_elementwise_as_target, o, slots_of(l, o.results), terms(l, o, p, taken, subtracts),
             l.make<ElementwiseData>(num::elementwise_fma.kernel(type, type)));
    });
  }

  void quotient(const ir::Op& op, bool subtracts) {
    for (uint32_t i = 0; i < 2; ++i) {
      const Product p = product(*op.operand(i), op, num::elementwise_divf);
      if (!p || l_.type(op.result()->type)->element != num::Type::kF32) continue;
      if (!only_sums(*p.op->result(), *p.op)) continue;
      return l_.replace(op, [=, &l = l_](const ir::Op& o) {
        lower_as_ptx(l, o, "=f,f,f,f", quotient_text(*p.op), terms(l, o, p, i, subtracts));
      });
    }
  }

  static Slot negative(Lowering& l, const ir::Op& op, Slot from) {
    const TileType* type = l.type_of(from);
    const Slot out = l.new_slot(type);
    l.emit(run_elementwise, op, {out}, {from},
           l.make<ElementwiseData>(num::elementwise_negf.kernel(type->element, type->element)));
    return out;
  }

  // Lowers an op again, for other operands.
  static Slot again(Lowering& l, const ir::Op& op, std::span<const Slot> operands) {
    const Slot out = l.new_slot(l.type(op.result()->type));
    l.scoped(*op.block->region, [&] {
      for (uint32_t i = 0; i < operands.size(); ++i) l.alias(op.operand(i), operands[i]);
      l.alias(op.result(), out);
      l.lower_op(op);
    });
    return out;
  }

  // A factor as the ops that the product goes through would have it.
  static Slot factor(Lowering& l, const Product& p, uint32_t which) {
    Slot at = l.slot(p.op->operand(which));
    for (const ir::Op* op : p.through) at = again(l, *op, {&at, 1});
    return at;
  }

  // The factors of the product that is operand `taken` of a sum or difference, and the other operand.
  static std::vector<Slot> terms(Lowering& l, const ir::Op& op, const Product& p, uint32_t taken,
                                 bool subtracts) {
    Slot a = factor(l, p, 0);
    const Slot b = factor(l, p, 1);
    Slot c = l.slot(op.operand(1 - taken));
    if (p.minus != (subtracts && taken == 1)) a = negative(l, op, a);
    if (subtracts && taken == 0) c = negative(l, op, c);
    return {a, b, c};
  }

  // tl.where(m, x, 0) of which m is one for all elements that are added up along the axis: LLVM (InstCombine) adds
  // first, and selects between the sum and 0.
  const ir::Op* row_mask(const ir::Value& v, size_t axis) const {
    const ir::Op* op = v.defining_op;
    const ir::Value* other = op ? op->operand_of("false_value") : nullptr;
    if (!other || uses(v) != 1) return nullptr;
    const auto constant = constant_of(other);
    if (!constant || std::bit_cast<uint32_t>(*constant) != 0) return nullptr;
    const ir::Value* m = op->operand_of("condition");
    if (m->type->kind != ir::TypeKind::kTensor) return op;
    const ir::Op* spread = m->defining_op;
    const bool moves = spread && spread->does(ir::Effect::kMoves) && spread->num_operands() == 1;
    if (!moves) return nullptr;
    const ir::Type& from = *spread->operand(0)->type;
    if (from.kind != ir::TypeKind::kTensor) return op;
    return from.shape.size() == m->type->shape.size() && from.shape[axis] == 1 ? op : nullptr;
  }

  // A factor where the mask is on, else 0: so is the sum.
  static Slot masked(Lowering& l, const ir::Op& select, Slot factor) {
    std::vector<Slot> operands = slots_of(l, select.operand_uses);
    operands[static_cast<size_t>(Lowering::operand_index(select, "true_value"))] = factor;
    return again(l, select, operands);
  }

  // A sum of products: the first additions take theirs unrounded.
  void reduction(const ir::Op& op) {
    const ir::Block& body = *op.region(0)->first;
    if (op.num_operands() != 1 || body.next || !body.first || body.first->next != body.last) return;
    if (!is_functor(*body.first, num::elementwise_addf)) return;
    const ir::Type& type = *op.operand(0)->type;
    const int64_t axis = op.int_attr("axis", 0);
    if (axis < 0 || static_cast<size_t>(axis) >= type.shape.size() ||
        type.shape[static_cast<size_t>(axis)] < 2)
      return;
    const ir::Op* mask =
        combines_registers(op) ? row_mask(*op.operand(0), static_cast<size_t>(axis)) : nullptr;
    const Product p =
        product(*(mask ? mask->operand_of("true_value") : op.operand(0)), op, num::elementwise_mulf);
    if (!p) return;
    l_.replace(op, [=, &l = l_](const ir::Op& o) {
      Slot a = factor(l, p, 0), b = factor(l, p, 1);
      if (p.minus) a = negative(l, o, a);
      if (mask) a = masked(l, *mask, a), b = masked(l, *mask, b);
      if (!reduce_products(l, o, Factors{a, b})) row_of(o.kind).lower(l, o);
    });
  }

  Lowering& l_;
  const Ranks& ranks_;
};

}  // namespace

void find_contractions(Lowering& lowering, const ir::Region& region) {
  Contractions(lowering, Ranks(region, lowering.code().num_warps * lowering.code().warp_size)).region(region);
}

}  // namespace triton_runner::tile
