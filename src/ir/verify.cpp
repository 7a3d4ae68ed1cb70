// Checks what execution relies on and a text can get wrong although it parses: every use is dominated by its
// definition, blocks end as their parents expect, and the values that cross an edge have the types of the
// other side.
#include <algorithm>
#include <unordered_map>

#include <triton_runner/ir/op_table.h>

#include "assembly.h"
#include "impl.h"
#include "verify.h"

namespace triton_runner::ir {
namespace {

class Verifier {
 public:
  Verifier(const Module& module, base::Diagnostics& sink) : m_(module.impl()), sink_(sink) {}

  void run(const Region* region) {
    for (const Block* block = region->first; block; block = block->next) {
      uint32_t n = 0;
      for (const Op* op = block->first; op; op = op->next) order_[op] = n++;
    }
    immediate_dominators(region);
    for (const Block* block = region->first; block; block = block->next)
      for (const Op* op = block->first; op; op = op->next) {
        operands(*op);
        if (std::string fault = shape_fault(*op); fault.empty())
          rules(*op);
        else
          fail(*op, std::move(fault));
        for (const Region* inner : op->regions) run(inner);
      }
  }

 private:
  void fail(const Op& op, std::string message, std::vector<std::string> notes = {}) {
    if (op.text.empty()) {
      sink_.add(base::failure(std::string(op.name) + ": " + message, std::move(notes)));
    } else {
      sink_.add(m_.error_at(op.text.data(), std::move(message), std::move(notes)));
    }
  }
  static std::string spell(const Type* type) { return text_of(type); }

  // ---- dominance

  // The dominator tree of a region's blocks, by iteration to a fixed point over the reachable ones.
  void immediate_dominators(const Region* region) {
    if (!region->first || !region->first->next) return;
    std::vector<const Block*> order;  // reverse post-order
    std::unordered_map<const Block*, int> number;
    std::vector<std::pair<const Block*, size_t>> stack{{region->first, 0}};
    number[region->first] = -1;
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      if (block->last && next < block->last->successors.size()) {
        const Block* to = block->last->successors[next++];
        if (number.emplace(to, -1).second) stack.push_back({to, 0});
      } else {
        order.push_back(block);
        stack.pop_back();
      }
    }
    std::reverse(order.begin(), order.end());
    std::vector<std::vector<int>> before(order.size());
    for (size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<int>(i);
    for (size_t i = 0; i < order.size(); ++i)
      if (order[i]->last)
        for (const Block* to : order[i]->last->successors)
          before[static_cast<size_t>(number[to])].push_back(static_cast<int>(i));
    std::vector<int> dominator(order.size(), -1);
    dominator[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 1; i < order.size(); ++i) {
        int common = -1;
        for (int p : before[i]) {
          if (dominator[static_cast<size_t>(p)] < 0) continue;
          int a = p, b = common < 0 ? p : common;
          while (a != b) {
            while (a > b) a = dominator[static_cast<size_t>(a)];
            while (b > a) b = dominator[static_cast<size_t>(b)];
          }
          common = a;
        }
        if (dominator[i] != common) dominator[i] = common, changed = true;
      }
    }
    for (size_t i = 0; i < order.size(); ++i)
      dominators_[order[i]] = i == 0 ? nullptr : order[static_cast<size_t>(dominator[i])];
  }

  bool dominates(const Value& value, const Op& user) {
    const Block* home = value.block ? value.block : value.defining_op->block;
    // Out of the user's regions to the one that holds the definition.
    const Op* at = &user;
    while (at && at->block && at->block->region != home->region) {
      if (at->kind == OpKind::kFunc || at->kind == OpKind::kModule) return false;
      at = at->block->region->parent;
    }
    if (!at || !at->block) return false;
    if (at->block == home) return value.block || order_[value.defining_op] < order_[at];
    if (!dominators_.count(at->block)) return true;  // an unreachable block: anything dominates it
    for (const Block* b = at->block; b; b = dominators_[b])
      if (b == home) return true;
    return false;
  }

  // Checks what the op's row says of its operands: as many groups are there as may not be left out; a mask is
  // of i1, what stands for elements that are masked off is of their type, an mbarrier lies in memory of i64.
  void groups(const Op& op) {
    const std::vector<OpSyntax::Group>& groups = op_syntax(op.kind).groups;
    const auto least = static_cast<size_t>(std::count_if(
        groups.begin(), groups.end(), [](const auto& g) { return !g.optional && !g.variadic; }));
    if (op.num_operands() < least)
      return fail(op, std::string(op.name) + " needs " + std::to_string(least) +
                          (least == 1 ? " operand, it has " : " operands, it has ") +
                          std::to_string(op.num_operands()));
    const size_t grouped = op.group_ends.empty() ? 0 : op.group_ends.back();
    if (op.num_operands() > grouped)
      return fail(op, std::string(op.name) + " takes " + (grouped ? std::to_string(grouped) : "no") +
                          " operands, it has " + std::to_string(op.num_operands()));
    const Type* element = op.results.empty() ? nullptr : op.results[0].type->scalar();
    // An op without a row has one group, which has no name.
    for (uint32_t i = 0; i < groups.size() && i < op.group_ends.size(); ++i) {
      const Value* value = op.operand_of(i);
      if (!value) continue;
      const std::string_view name = groups[i].name;
      const Type* scalar = value->type->scalar();
      if (name == "barrier" || name == "barriers" ||
          (name == "alloc" && op.name.find("_barrier") != std::string_view::npos))
        for (const Use& use : op.group(i)) mbarrier(op, use.value->type);
      if (name == "barrier_preds" && op.group(i).size() != op.group(i - 1).size())
        fail(op, std::string(op.name) + " needs a predicate for each barrier");
      if (name == "dest" || name == "result") element = scalar;
      if (name == "mask" && groups[i].optional &&  // of an access, and not a vote
          (scalar->kind != TypeKind::kInteger || scalar->width != 1))
        fail(op, "the mask of " + std::string(op.name) + " is " + spell(value->type) + ", and not of i1");
      if (name == "other" && element && scalar != element)
        fail(op, std::string(op.name) + " of " + spell(element) + " with " + spell(value->type) +
                     " for what is masked off");
    }
  }

  void mbarrier(const Op& op, const Type* type) {
    const Type* scalar = type->scalar();
    // Until nvws tokens are lowered they stand where barriers will.
    if (op.effects().all(Effect::kBlock | Effect::kWaits) && type->kind != TypeKind::kMemDesc) return;
    if (type->kind != TypeKind::kMemDesc || scalar->kind != TypeKind::kInteger || scalar->width != 64)
      fail(op, "the barrier of " + std::string(op.name) + " is " + spell(type) + ", and not memory of i64");
  }

  void operands(const Op& op) {
    groups(op);
    for (const Use& use : op.operand_uses)
      if (!dominates(*use.value, op))
        fail(op,
             text_of(use.value) + " is used in " + std::string(op.name) +
                 " where its definition has not been passed",
             use.value->defining_op && !use.value->defining_op->text.empty()
                 ? std::vector<std::string>{"it is defined at " +
                                            m_.location_of(use.value->defining_op->text).str()}
                 : std::vector<std::string>{});
  }

  // ---- what ops expect of what is around them

  template <class Values, class Get>
  void match(const Op& op, const Values& values, Get type_of, size_t wanted_count, auto wanted,
             std::string_view what) {
    if (values.size() != wanted_count)
      return fail(op, std::string(op.name) + " has " + std::to_string(values.size()) + " values, " +
                          std::string(what) + " has " + std::to_string(wanted_count));
    for (size_t i = 0; i < wanted_count; ++i)
      if (type_of(values[i]) != wanted(i))
        fail(op, "value " + std::to_string(i) + " of " + std::string(op.name) + " is " +
                     spell(type_of(values[i])) + ", " + std::string(what) + " has " + spell(wanted(i)));
  }
  void match_operands(const Op& op, std::span<const Use> uses, size_t count, auto wanted,
                      std::string_view what) {
    match(op, uses, [](const Use& use) { return use.value->type; }, count, wanted, what);
  }

  void branch(const Op& op, const Block* to, std::span<const Use> args) {
    match_operands(
        op, args, to->args.size(), [&](size_t i) { return to->args[i].type; }, "^" + std::string(to->name));
  }

  const Op* terminator(const Op& op, uint32_t region, OpKind kind) {
    const Region* r = op.regions[region];
    const Op* last = r->last ? r->last->last : nullptr;
    if (!last || last->kind != kind) {
      fail(op, "region " + std::to_string(region) + " of " + std::string(op.name) + " does not end with " +
                   std::string(op_info(kind).name));
      return nullptr;
    }
    return last;
  }

  // The function of a reduction or scan: two elements of each operand to one.
  void folded(const Op& op) {
    if (op.regions.size() != 1 || !op.region()->first)
      return fail(op, std::string(op.name) + " needs one region");
    std::span<Value> args = op.region()->first->args;
    const size_t n = op.num_operands();
    if (args.size() != n * 2)
      return fail(op, std::string(op.name) + " of " + std::to_string(n) + " operands needs " +
                          std::to_string(n * 2) + " block arguments, there are " +
                          std::to_string(args.size()));
    for (size_t i = 0; i < args.size(); ++i) {
      const Type* scalar = op.operand(static_cast<uint32_t>(i % n))->type->scalar();
      if (args[i].type != scalar)
        fail(op, "block argument " + std::to_string(i) + " of " + std::string(op.name) + " is " +
                     spell(args[i].type) + ", the operand holds " + spell(scalar));
    }
    if (const Op* last = terminator(op, 0, find_op(std::string(op_info(op.kind).name) + ".return")))
      match_operands(
          *last, last->operand_uses, op.results.size(),
          [&](size_t i) { return op.results[i].type->scalar(); }, op.name);
  }

  void function(const Op& op) {
    const Attr* attr = op.attr("function_type");
    if (!attr || attr->kind != AttrKind::kType || op.regions.size() != 1)
      return fail(op, "tt.func needs a function_type and one region");
    const Region* body = op.region();
    if (!body->first) return;
    for (const Block* block = body->first; block; block = block->next) {
      const Op* last = block->last;
      const bool ends = last && (last->kind == OpKind::kReturn || !last->successors.empty());
      if (!ends && !(last && last->kind == OpKind::kUnknown))
        fail(last ? *last : op, "a block of a function ends with tt.return or a branch");
    }
    if (body->first->args.size() != attr->type->num_params)
      fail(op, "the function's type has another number of arguments");
  }

  void function_return(const Op& op) {
    const Op* function = op.block && op.block->region ? op.block->region->parent : nullptr;
    if (!function || function->kind != OpKind::kFunc) return fail(op, "tt.return stands outside a function");
    const Attr* attr = function->attr("function_type");
    const Type* type = attr ? attr->type : nullptr;
    if (!type) return;
    match_operands(
        op, op.operand_uses, type->elements.size() - type->num_params,
        [&](size_t i) { return type->elements[type->num_params + i]; }, "the function's type");
  }

  void call(const Op& op) {
    const Attr* callee = op.attr("callee");
    if (!callee) return;
    const Op* function = find(callee->string);
    if (!function)
      return fail(op, "there is no function @" + std::string(callee->string) + " in this module");
    const Type* type = function->attr("function_type")->type;
    match_operands(
        op, op.operand_uses, type->num_params, [&](size_t i) { return type->elements[i]; },
        "@" + std::string(callee->string));
  }

  // Every region yields the op's results.
  void yields(const Op& op) {
    if (op.results.empty()) return;
    for (uint32_t r = 0; r < op.regions.size(); ++r)
      if (const Op* yield = terminator(op, r, OpKind::kYield))
        match_operands(
            *yield, yield->operand_uses, op.results.size(), [&](size_t i) { return op.results[i].type; },
            op.name);
  }

  void while_loop(const Op& op) {
    if (op.regions.size() != 2) return fail(op, "scf.while needs two regions");
    if (const Op* condition = terminator(op, 0, OpKind::kCondition)) {
      match_operands(
          *condition, condition->group("args"), op.results.size(),
          [&](size_t i) { return op.results[i].type; }, op.name);
      if (!op.region(1)->first || op.region(1)->first->args.size() != op.results.size())
        fail(op, "the block after `do` needs an argument for each result");
    }
    if (const Op* yield = op.region(1)->last ? op.region(1)->last->last : nullptr;
        yield && yield->kind == OpKind::kYield)
      match_operands(
          *yield, yield->operand_uses, op.num_operands(),
          [&](size_t i) { return op.operand(static_cast<uint32_t>(i))->type; }, op.name);
    else if (op.num_operands())
      fail(op, "region 1 of scf.while does not end with scf.yield");
  }

  // Arithmetic that is no cast gives the type that it takes.
  void arithmetic(const Op& op) {
    if (op.kind == OpKind::kUnknown || op.results.empty()) return;
    const OpInfo& row = op_info(op.kind);
    const bool casts = row.operands == "in" || row.operands == "src";
    if (casts || !row.exec.starts_with("ELEMENTWISE") || !row.name.starts_with("arith.")) return;
    for (const Use& use : op.operand_uses)
      if (use.value->type != op.results[0].type)
        fail(op, std::string(op.name) + " gives " + spell(op.results[0].type) + " but takes " +
                     spell(use.value->type));
  }

  void rules(const Op& op) {
    switch (op.kind) {
      case OpKind::kFunc:
        return function(op);
      case OpKind::kReturn:
        return function_return(op);
      case OpKind::kCall:
        return call(op);
      case OpKind::kBr:
        if (op.successors.size() == 1) branch(op, op.successors[0], op.operand_uses);
        return;
      case OpKind::kCondBr:
        if (op.successors.size() != 2) return fail(op, "cf.cond_br needs two blocks");
        branch(op, op.successors[0], op.group("true_args"));
        return branch(op, op.successors[1], op.group("false_args"));
      case OpKind::kFor:
      case OpKind::kIf:
      case OpKind::kExecuteRegion:
        return yields(op);
      case OpKind::kWhile:
        return while_loop(op);
      default:
        return op.does(Effect::kApplies) && op.attr("axis") ? folded(op) : arithmetic(op);
    }
  }

  const Op* find(std::string_view name) {
    if (functions_.empty()) collect(m_.top);
    auto it = functions_.find(name);
    return it == functions_.end() ? nullptr : it->second;
  }
  void collect(const Region* region) {
    for (const Block* block = region->first; block; block = block->next)
      for (const Op* op = block->first; op; op = op->next) {
        if (const Attr* name = op->attr("sym_name");
            name && op->kind == OpKind::kFunc && op->attr("function_type"))
          functions_[name->string] = op;
        if (op->kind == OpKind::kModule)
          for (const Region* inner : op->regions) collect(inner);
      }
  }

  const Module::Impl& m_;
  base::Diagnostics& sink_;
  std::unordered_map<const Op*, uint32_t> order_;
  std::unordered_map<const Block*, const Block*> dominators_;
  std::unordered_map<std::string_view, const Op*> functions_;
};

}  // namespace

bool verify(const Module& module, base::Diagnostics& sink) {
  size_t before = sink.list().size();
  Verifier(module, sink).run(module.impl().top);
  return sink.list().size() == before;
}

}  // namespace triton_runner::ir
