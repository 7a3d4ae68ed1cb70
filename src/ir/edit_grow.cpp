// Implements the edits that make something longer: one more argument of a block, parameter of a function,
// operand or result. Other edits are in edit.cpp.
#include <algorithm>

#include <triton_runner/ir/edit.h>

#include "impl.h"

namespace triton_runner::ir {
namespace {

// The values at their new place; what uses them follows.
std::span<Value> grow(Module::Impl& m, std::span<Value> values, const Value& last) {
  Value* grown = m.arena.array<Value>(values.size() + 1).data();
  std::copy(values.begin(), values.end(), grown);
  grown[values.size()] = last;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!grown[i].first_use) continue;
    grown[i].first_use->prev = &grown[i].first_use;
    for (Use* use = grown[i].first_use; use; use = use->next) use->value = &grown[i];
  }
  return {grown, values.size() + 1};
}

}  // namespace

Value* add_argument(Module& module, Block* block, const Type* type, std::string_view name) {
  Module::Impl& m = module.impl();
  Value last{.type = type, .name = m.arena.text(name)};
  last.block = block;
  last.index = static_cast<uint32_t>(block->args.size());
  block->args = grow(m, block->args, last);
  block->edited = true;
  Op* parent = block->region->parent;
  if (parent && block == block->region->first) touch(m, parent);
  // Partitions are printed by the op that they belong to.
  if (parent && parent->kind == OpKind::kWarpSpecializePartitions) touch(m, parent->block->region->parent);
  return &block->args.back();
}

Value* add_parameter(Module& module, Op* function, const Type* type, std::string_view name,
                     std::span<const NamedAttr> attrs) {
  Module::Impl& m = module.impl();
  const Type* old = function->attr("function_type")->type;
  std::vector<const Type*> params(old->elements.begin(), old->elements.begin() + old->num_params);
  std::vector<const Type*> results(old->elements.begin() + old->num_params, old->elements.end());
  std::vector<const Attr*> all(params.size(), m.dict({}));
  if (const Attr* said = function->attr("arg_attrs"))
    std::copy(said->elements.begin(), said->elements.end(), all.begin());
  params.push_back(type);
  all.push_back(m.dict(m.arena.copy(attrs.data(), attrs.size())));

  set_attr(module, function, "function_type", m.type_attr(m.function_type(params, results)));
  set_attr(module, function, "arg_attrs", m.array(all));
  Block* body = function->region()->first;
  return body ? add_argument(module, body, type, name) : nullptr;
}

void add_operand(Module& module, Op* op, uint32_t group, Value* value) {
  Module::Impl& m = module.impl();
  const uint32_t at = group < op->group_ends.size() ? op->group_ends[group] : op->num_operands();
  Use* grown = m.arena.array<Use>(op->num_operands() + 1).data();
  for (uint32_t i = 0; i < op->num_operands(); ++i) {
    Use& from = op->operand_uses[i];
    Use& to = grown[i + (i >= at)];
    to = from;
    to.operand_index = i + (i >= at);
    *to.prev = &to;
    if (to.next) to.next->prev = &to.next;
  }
  grown[at] = {value, op, at, value->first_use, &value->first_use};
  if (grown[at].next) grown[at].next->prev = &grown[at].next;
  value->first_use = &grown[at];
  op->operand_uses = {grown, op->num_operands() + size_t{1}};
  uint32_t* ends = m.arena.copy(op->group_ends.data(), op->group_ends.size()).data();
  for (uint32_t g = group; g < op->group_ends.size(); ++g) ++ends[g];
  op->group_ends = {ends, op->group_ends.size()};
  touch(m, op);
}

Value* add_result(Module& module, Op* op, const Type* type, std::string_view name) {
  Module::Impl& m = module.impl();
  Value last{.type = type, .name = m.arena.text(name), .defining_op = op};
  last.index = static_cast<uint32_t>(op->results.size());
  op->results = grow(m, op->results, last);
  touch(m, op);
  return &op->results.back();
}

}  // namespace triton_runner::ir
