// Replaces ops that a release has in another form: views of shared memory, descriptors that kernels are
// given, barriers, and the broadcast that changes its layout.
#include <algorithm>

#include <triton_runner/ir/edit.h>

#include "translate.h"

namespace triton_runner::ir {
namespace {

// The constant that a value is, or nothing.
const int64_t* constant(const Value* value) {
  const Op* op = value->defining_op;
  const Attr* a = op && op->kind == OpKind::kConstant ? op->attr("value") : nullptr;
  return a && a->kind == AttrKind::kInteger ? &a->integer : nullptr;
}

bool all_zero(std::span<const Use> uses) {
  return std::ranges::all_of(uses, [](const Use& use) {
    const int64_t* c = constant(use.value);
    return c && *c == 0;
  });
}

void drop_operands(Op* op, size_t keep) {
  for (Use& use : op->operand_uses.subspan(keep)) {
    *use.prev = use.next;
    if (use.next) use.next->prev = use.prev;
  }
  op->operand_uses = op->operand_uses.first(keep);
}

std::string spelled(const Type* type) {
  std::string text;
  TextWriter(text).type(type);
  return text;
}

}  // namespace

void Translator::replace(Op* op) {
  switch (op->kind) {
    case OpKind::kFunc:
      if (release_ >= release(3, 4) && op->region()->first)
        for (uint32_t i = 0; i < op->region()->first->args.size(); ++i) descriptor_parameter(op, i);
      break;
    case OpKind::kMemDescSubview:
      view(op);
      break;
    case OpKind::kBroadcast:
      if (release_ < release(3, 9)) broadcast(op);
      break;
    case OpKind::kBarrier:
      if (release_ >= release(3, 7)) break;
      op->kind = OpKind::kGpuBarrier;
      remove_attr(module_, op, "addrSpace");
      break;
    case OpKind::kWarpGroupDot:
      if (release_ < release(3, 2) || !op->name.ends_with("dot_async")) break;
      {
        set_attr(module_, op, "isAsync", m_.boolean(true));
      }
      break;
    case OpKind::kTCGen5MMA:
    case OpKind::kTCGen5MMAScaled:  // until 3.4 one with a barrier was
      if (release_ >= release(3, 4)) barrier_predicates(op);
      if (release_ < release(3, 5)) {
        remove_attr(module_, op, "is_async");
      } else if (!op->group("barriers").empty() && !op->attr("is_async")) {
        set_attr(module_, op, "is_async", m_.unit());
        note("a product with a barrier", "is_async");
      }
      break;
    case OpKind::kAssert:
      if (release_ < release(3, 3)) break;
      for (std::string_view name : {"file", "func", "line"}) remove_attr(module_, op, name);
      break;
    case OpKind::kReshape:
      if (const Attr* reorder = op->attr("allow_reorder");
          release_ >= release(3, 3) && reorder && reorder->kind == AttrKind::kBool) {
        if (reorder->integer)
          set_attr(module_, op, "allow_reorder", m_.unit());
        else
          remove_attr(module_, op, "allow_reorder");
        note("allow_reorder of tt.reshape", "a word");
      }
      break;
    default:
      break;
  }
}

// Until 3.4 one op took a slot of a buffer or a part of a slot; from 3.5 two ops do.
void Translator::view(Op* op) {
  Value* source = op->operand(0);
  std::span<Use> offsets = op->group("offsets");
  Type made = *op->result()->type;
  const bool is_slot = made.shape.size() + 1 == source->type->shape.size() && all_zero(offsets.subspan(1));
  const bool is_barrier =
      made.shape.size() == 1 && source->type->shape.size() == 1 && made.shape[0] == 1 && offsets.size() == 1;
  if (release_ >= release(3, 3)) made.is_mutable = source->type->is_mutable;
  if (release_ < release(3, 5)) {
    if (release_ >= release(3, 3))
      made.alloc_shape = source->type->alloc_shape.empty() ? source->type->shape : source->type->alloc_shape;
  } else if (is_slot || is_barrier) {
    if (is_barrier) barriers_of(source);
    drop_operands(op, 2);
    op->kind = OpKind::kMemDescIndex;
    made.alloc_shape = release_ == release(3, 5) ? source->type->shape : std::span<const int64_t>{};
  } else if (made.shape.size() == source->type->shape.size()) {
    std::vector<uint64_t> raw;
    for (const Use& use : offsets)
      if (const int64_t* c = constant(use.value)) raw.push_back(static_cast<uint64_t>(*c));
    made.alloc_shape = source->type->alloc_shape.empty() ? source->type->shape : source->type->alloc_shape;
    if (made.alloc_shape.size() > made.shape.size())
      made.alloc_shape = made.alloc_shape.last(made.shape.size());
    if (raw.size() == offsets.size()) {
      drop_operands(op, 1);
      op->kind = OpKind::kMemDescSubslice;
      set_attr(module_, op, "offsets", m_.numbers(m_.integer_type(32), raw));
    } else {
      return fail(op,
                  "Triton " + spelled(to_) + " takes no part of shared memory at offsets that are computed",
                  {"its ttg.memdesc_subslice has constant ones"});
    }
  } else {
    return fail(op, "no op of Triton " + spelled(to_) + " stands for this ttg.memdesc_subview");
  }
  if (release_ >= release(3, 5)) {
    const uint32_t ends[] = {1, static_cast<uint32_t>(op->num_operands())};
    op->group_ends = m_.arena.copy(ends, op->kind == OpKind::kMemDescSubslice ? 1 : 2);
    op->form = 1;
  }
  made.text = made.text.substr(0, made.text.find('<'));
  op->result()->type = m_.intern(made);
}

// In 3.3 the barrier of a product has no predicate.
void Translator::barrier_predicates(Op* op) {
  const size_t barriers = op->group("barriers").size();
  if (barriers == 0 || !op->group("barrier_preds").empty()) return;
  base::Result<std::vector<Op*>> made = insert(
      module_, op->block, op, "%barrier_" + std::to_string(predicates_++) + "_on = arith.constant true\n");
  if (!made) return fail(op, "its barrier could not be given a predicate");
  // The last of the row's groups, of which that release's text has no part.
  const auto group = static_cast<uint32_t>(std::ranges::count(op_info(op->kind).operands, ','));
  std::vector<uint32_t> ends(op->group_ends.begin(), op->group_ends.end());
  ends.resize(group + 1, op->num_operands());
  op->group_ends = m_.arena.copy(ends.data(), ends.size());
  for (size_t i = 0; i < barriers; ++i) add_operand(module_, op, group, made->front()->result());
}

// An array of barriers is one of slots of a single barrier from 3.5 on.
void Translator::barriers_of(Value* array) {
  if (array->type->shape.size() != 1) return;
  Type made = *array->type;
  const int64_t shape[] = {made.shape[0], 1};
  made.shape = m_.arena.copy(shape, 2);
  made.alloc_shape = {};
  made.text = made.text.substr(0, made.text.find('<'));
  array->type = m_.intern(made);
  note("memdesc<" + std::to_string(shape[0]) + "xi64>", "with a dimension of 1 after it");
}

// Until 3.3 a kernel took a descriptor of the host as a pointer that tt.nv_tma_desc marked; its block stood
// at its uses.
void Translator::descriptor_parameter(Op* function, uint32_t index) {
  const Attr* all = function->attr("arg_attrs");
  if (!all || index >= all->elements.size() || !all->elements[index]->get("tt.nv_tma_desc")) return;
  Value* param = &function->region()->first->args[index];
  const Type* block = nullptr;
  std::vector<Op*> casts;
  for (Use* use = param->first_use; use; use = use->next) {
    Op* user = use->user;
    const Type* here = nullptr;
    switch (user->kind) {
      case OpKind::kAsyncTMACopyGlobalToLocal:
        here = user->group("result")[0].value->type;
        break;
      case OpKind::kAsyncTMACopyLocalToGlobal:
        here = user->operand(user->num_operands() - 1)->type;
        break;
      case OpKind::kDescriptorLoad:
        here = user->result()->type;
        break;
      case OpKind::kDescriptorStore:
        here = user->operand(1)->type;
        break;
      case OpKind::kReinterpretTensorDescriptor:
        here = user->result()->type->element;
        casts.push_back(user);
        break;
      default:
        return fail(user, "Triton " + spelled(to_) + " gives kernels descriptors, and " +
                              std::string(user->name) + " takes the pointer to one");
    }
    const Type* tile = m_.tensor_type(here->element, here->shape, here->encoding);
    if (block && block != tile)
      return fail(
          user, "the descriptor is used for blocks of two kinds: " + spelled(block) + " and " + spelled(tile),
          {"from 3.4 on a descriptor has one"});
    block = tile;
  }
  if (!block) return;
  Type made{.kind = TypeKind::kTensorDesc};
  made.element = block;
  made.wrapped = true;
  param->type = m_.intern(made);
  for (Op* cast : casts) {
    cast->result()->type = param->type;
    if (replace_all_uses(module_, cast->result(), param)) (void)erase(module_, cast);
  }
  const Type* old = function->attr("function_type")->type;
  std::vector<const Type*> params(old->elements.begin(), old->elements.begin() + old->num_params);
  std::vector<const Type*> results(old->elements.begin() + old->num_params, old->elements.end());
  params[index] = param->type;
  set_attr(module_, function, "function_type", m_.type_attr(m_.function_type(params, results)));
  std::vector<const Attr*> dictionaries(all->elements.begin(), all->elements.end());
  dictionaries[index] = with(dictionaries[index], "tt.nv_tma_desc");
  set_attr(module_, function, "arg_attrs", m_.array(dictionaries));
  note("tt.nv_tma_desc", "!tt.tensordesc");
}

const Attr* Translator::with(const Attr* dictionary, std::string_view without) {
  std::vector<NamedAttr> entries;
  for (const NamedAttr& e : dictionary->entries)
    if (e.name != without) entries.push_back(e);
  return m_.dict(m_.arena.copy(entries.data(), entries.size()));
}

// 3.9 broadcasts into another layout; before, a conversion does that.
void Translator::broadcast(Op* op) {
  const Type* from = op->operand(0)->type;
  const Type* to = op->result()->type;
  if (from->encoding == to->encoding || !from->encoding) return;
  const Type* between = m_.tensor_type(to->element, to->shape, from->encoding);
  std::string name(op->result()->name);
  auto line = [&](std::string result, std::string_view what, std::string operand, const Type* a,
                  const Type* b) {
    return '%' + result + " = " + std::string(what) + " %" + operand + " : " + spelled(a) + " -> " +
           spelled(b) + '\n';
  };
  std::string text =
      line(name + "_as_it_was", "tt.broadcast", std::string(op->operand(0)->name), from, between) +
      line(name + "_converted", "ttg.convert_layout", name + "_as_it_was", between, to);
  base::Result<std::vector<Op*>> made = insert(module_, op->block, op, text);
  if (!made) return fail(op, "tt.broadcast between two layouts could not be split");
  for (Op* one : *made) one->loc = op->loc;
  if (replace_all_uses(module_, op->result(), made->back()->result())) (void)erase(module_, op);
  note("tt.broadcast into another layout", "tt.broadcast and ttg.convert_layout");
}

// The values that a loop carries, an if yields or a wait hands on have the type of where they come from.
void Translator::pass_on_types(Op* op) {
  auto take = [](Value& to, const Value* from) {
    if (to.type->kind == TypeKind::kMemDesc) to.type = from->type;
  };
  if (op->kind == OpKind::kFor) {
    std::span<Use> inits = op->group("inits");
    for (size_t i = 0; i < inits.size(); ++i) {
      take(op->region()->first->args[i + 1], inits[i].value);
      take(op->results[i], inits[i].value);
    }
  } else if (op->kind == OpKind::kIf && op->region()->first && op->region()->first->last) {
    std::span<Use> yielded = op->region()->first->last->operand_uses;
    for (size_t i = 0; i < std::min(yielded.size(), op->results.size()); ++i)
      take(op->results[i], yielded[i].value);
  } else if (op->kind == OpKind::kWarpGroupDotWait) {
    for (size_t i = 0; i < op->results.size(); ++i)
      take(op->results[i], op->operand(static_cast<uint32_t>(i)));
  }
}

}  // namespace triton_runner::ir
