// Implements edit.h: edits that keep a module valid and mark the text around them as no longer the source's.
// Those that add an operand, result, argument or parameter are in edit_grow.cpp.
#include <triton_runner/ir/edit.h>
#include <triton_runner/ir/walk.h>

#include <algorithm>

#include "parser.h"

namespace triton_runner::ir {
namespace {

// Text for the parser: in the arena, because the graph's views point into it, and closed by a zero byte.
std::string_view keep(Module::Impl& m, std::string_view text) {
  std::string closed(text);
  closed += '\0';
  return m.arena.text(closed).substr(0, text.size());
}

void touch_around(Module::Impl& m, const Block* block) {
  m.edited = true;
  while (block && block->region && block->region->parent) {
    block->region->parent->edited_inside = true;
    block = block->region->parent->block;
  }
}
void unlink(Use& use) {
  *use.prev = use.next;
  if (use.next) use.next->prev = use.prev;
}
void link(Use& use, Value* value) {
  use.value = value;
  use.next = value->first_use;
  use.prev = &value->first_use;
  if (use.next) use.next->prev = &use.next;
  value->first_use = &use;
}

// Marks what shows a value: where it is defined, and where it is used.
void touch_value(Module::Impl& m, Value* value) {
  if (value->defining_op) {
    touch(m, value->defining_op);
  } else {
    value->block->edited = true;
    if (value->block->region->parent && value->block == value->block->region->first &&
        value->block->text.empty())
      touch(m, value->block->region->parent);
    touch_around(m, value->block);
  }
  for (Use* use = value->first_use; use; use = use->next) touch(m, use->user);
}

// Returns what the parser makes of a text by itself.
template <class T>
base::Result<T> parsed(Module& module, std::string_view text, T (Parser::*parse)()) {
  Parser parser(module.impl());
  parser.set_text(keep(module.impl(), text));
  const T made = (parser.*parse)();
  if (parser.error()) return *parser.error();
  return made;
}

}  // namespace

void touch(Module::Impl& m, Op* op) {
  op->edited = true;
  touch_around(m, op->block);
}

base::Result<const Type*> parse_type(Module& module, std::string_view text) {
  return parsed(module, text, &Parser::lone_type);
}

base::Result<const Attr*> parse_attr(Module& module, std::string_view text) {
  return parsed(module, text, &Parser::lone_attr);
}

void set_attr(Module& module, Op* op, std::string_view name, const Attr* value) {
  Module::Impl& m = module.impl();
  touch(m, op);
  std::vector<NamedAttr> attrs(op->attrs.begin(), op->attrs.end());
  for (NamedAttr& entry : attrs)
    if (entry.name == name) {
      entry.value = value;
      op->attrs = m.arena.copy(attrs.data(), attrs.size());
      return;
    }
  // Dictionaries are printed in the order of their names.
  auto at = std::find_if(attrs.begin() + std::min<ptrdiff_t>(op->num_properties, std::ssize(attrs)),
                         attrs.end(), [&](const NamedAttr& entry) { return entry.name > name; });
  attrs.insert(at, {m.arena.text(name), value});
  op->attrs = m.arena.copy(attrs.data(), attrs.size());
}

void remove_attr(Module& module, Op* op, std::string_view name) {
  Module::Impl& m = module.impl();
  std::vector<NamedAttr> attrs;
  uint16_t properties = op->num_properties;
  for (size_t i = 0; i < op->attrs.size(); ++i) {
    if (op->attrs[i].name != name)
      attrs.push_back(op->attrs[i]);
    else if (i < op->num_properties)
      --properties;
  }
  if (attrs.size() == op->attrs.size()) return;
  touch(m, op);
  op->num_properties = properties;
  op->attrs = m.arena.copy(attrs.data(), attrs.size());
}

base::Status replace_operand(Module& module, Op* op, uint32_t index, Value* value) {
  if (index >= op->num_operands())
    return base::failure(std::string(op->name) + " has " + std::to_string(op->num_operands()) +
                         " operands, there is no " + std::to_string(index));
  Use& use = op->operand_uses[index];
  if (use.value->type != value->type)
    return base::failure("operand " + std::to_string(index) + " of " + std::string(op->name) + " has type " +
                         text_of(use.value->type) + ", the new value has " + text_of(value->type));
  unlink(use);
  link(use, value);
  touch(module.impl(), op);
  return base::success();
}

base::Status replace_all_uses(Module& module, Value* from, Value* to) {
  if (from == to) return base::success();
  while (from->first_use)
    if (base::Status status =
            replace_operand(module, from->first_use->user, from->first_use->operand_index, to);
        !status)
      return status;
  return base::success();
}

base::Status rename(Module& module, Value* value, std::string_view name) {
  Module::Impl& m = module.impl();
  bool good = !name.empty() && (!is_digit(name[0]) || std::all_of(name.begin(), name.end(), is_digit));
  for (char c : name) good = good && is_suffix(c);
  if (!good)
    return base::failure("'" + std::string(name) +
                         "' cannot be a value's name: letters, digits and $._- can");
  if (value->group_size > 1)
    return base::failure("%" + std::string(value->name) + " names several results together");
  // Visible in the same function means taken.
  const Block* block = value->block ? value->block : value->defining_op->block;
  Op* function = nullptr;
  for (const Block* b = block; b && b->region->parent; b = b->region->parent->block)
    function = b->region->parent;
  bool taken = false;
  if (function)
    for_each_op(function, [&](Op* op) {
      for (Value& v : op->results) taken = taken || v.name == name;
      for (Region* region : op->regions)
        for (Block* b = region->first; b; b = b->next)
          for (Value& v : b->args) taken = taken || v.name == name;
    });
  if (taken) return base::failure("%" + std::string(name) + " is the name of another value here");
  value->name = m.arena.text(name);
  touch_value(m, value);
  return base::success();
}

void retype(Module& module, Value* value, const Type* type) {
  value->type = type;
  touch_value(module.impl(), value);
}

std::vector<Op*> Parser::lone_ops(Block* block, Op* before) {
  // Name what is visible: the ops before in each block on the way out, and the arguments of those blocks.
  auto name_all = [&](std::span<Value> values) {
    for (size_t i = 0; i < values.size();) {
      size_t n = values[i].group_size;
      std::string_view name = values[i].name;
      if (!name.empty()) {
        NameEntry& entry = entries_[name_id(name)];
        if (!entry.value) {
          entry.value = &values[i];
          entry.at = begin_;
        }
      }
      i += std::max<size_t>(1, n);
    }
  };
  Op* stop = before;
  for (Block* b = block; b;) {
    for (Op* op = stop ? stop->prev : (b == block ? b->last : nullptr); op; op = op->prev)
      name_all(op->results);
    name_all(b->args);
    for (Block* other = b->region->first; other; other = other->next)
      if (other != b) {  // blocks that may dominate this one; verify() tells whether they do
        name_all(other->args);
        for (Op* op = other->first; op; op = op->next) name_all(op->results);
      }
    Op* parent = b->region->parent;
    if (!parent || parent->kind == OpKind::kFunc) break;
    stop = parent;
    b = parent->block;
  }
  std::vector<Op*> made;
  block_names_.push_back(nullptr);
  while (!failed() && (ws(), p_ < end_)) {
    Op* o = op();
    if (!failed()) made.push_back(o);
  }
  if (!failed()) report_undefined(0);
  report_missing_blocks();
  if (!failed() && !errors_.empty()) error_ = errors_.front();
  return made;
}

base::Result<std::vector<Op*>> insert(Module& module, Block* block, Op* before, std::string_view text) {
  Module::Impl& m = module.impl();
  Parser parser(m);
  parser.set_text(keep(m, text));
  std::vector<Op*> made = parser.lone_ops(block, before);
  if (parser.error()) {
    for (Op* op : made)
      for_each_op(op, [](Op* inner) {
        for (Use& use : inner->operand_uses) unlink(use);
      });
    return *parser.error();
  }
  for (Op* op : made) {
    for_each_op(op, [](Op* inner) {
      inner->text = {};
      for (Region* region : inner->regions) {
        region->text = {};
        for (Block* b = region->first; b; b = b->next) b->text = {};
      }
    });
    op->block = block;
    op->next = before;
    op->prev = before ? before->prev : block->last;
    (op->prev ? op->prev->next : block->first) = op;
    (before ? before->prev : block->last) = op;
  }
  if (!made.empty()) touch_around(m, block);
  return made;
}

base::Status erase(Module& module, Op* op) {
  Module::Impl& m = module.impl();
  if (!op->block) return base::failure("the module itself cannot be erased");
  for (const Value& result : op->results)
    if (result.first_use)
      return base::failure(
          "%" + std::string(result.name) + " is still used by " + std::string(result.first_use->user->name),
          {"replace its uses first"});
  for_each_op(op, [](Op* inner) {
    for (Use& use : inner->operand_uses) unlink(use);
    inner->operand_uses = {};
  });
  (op->prev ? op->prev->next : op->block->first) = op->next;
  (op->next ? op->next->prev : op->block->last) = op->prev;
  if (!op->text.empty()) {
    auto at = std::find_if(m.erased.begin(), m.erased.end(),
                           [&](std::string_view other) { return other.data() > op->text.data(); });
    m.erased.insert(at, op->text);
  }
  touch_around(m, op->block);
  return base::success();
}

}  // namespace triton_runner::ir
