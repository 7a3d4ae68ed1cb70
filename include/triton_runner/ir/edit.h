// Edits a module's graph. What was not touched keeps its text; what was is printed from the graph
// (Module::str()).
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include <triton_runner/ir/module.h>

namespace triton_runner::ir {

// A type or an attribute from its text ("tensor<8xf32,
// #blocked>", "4 : i32"); the module's aliases are known.
base::Result<const Type*> parse_type(Module& module, std::string_view text);
base::Result<const Attr*> parse_attr(Module& module, std::string_view text);

void set_attr(Module& module, Op* op, std::string_view name, const Attr* value);
void remove_attr(Module& module, Op* op, std::string_view name);

// The new value must have the old one's type.
base::Status replace_operand(Module& module, Op* op, uint32_t index, Value* value);
base::Status replace_all_uses(Module& module, Value* from, Value* to);

// Names are without '%'; letters, digits and $._- only, and not visible there yet.
base::Status rename(Module& module, Value* value, std::string_view name);

// Another type: what the ops around it then lack is the caller's to change.
void retype(Module& module, Value* value, const Type* type);

// Ops from their text, put before `before` in `block` (null:
// at its end). They may use the values visible there.
base::Result<std::vector<Op*>> insert(Module& module, Block* block, Op* before, std::string_view text);

// One more at the end: an argument of a block, a parameter of a function (its type and its body's argument),
// an operand of a group of the op's row, a result. Arguments, operands and results that were there move:
// pointers to them are no longer valid, their uses follow. What the other side of an edge then lacks (the
// callers' operand, the yield's) is the caller's to add.
Value* add_argument(Module& module, Block* block, const Type* type, std::string_view name);
Value* add_parameter(Module& module, Op* function, const Type* type, std::string_view name,
                     std::span<const NamedAttr> attrs);
void add_operand(Module& module, Op* op, uint32_t group, Value* value);
Value* add_result(Module& module, Op* op, const Type* type, std::string_view name);

// Takes an op and what is in it out of the graph; its results must have no uses.
base::Status erase(Module& module, Op* op);

}  // namespace triton_runner::ir
