// Parses and prints the syntaxes that the assembly column cannot describe: each is a pair, what the parser
// does and what the printer does. Here are modules, functions, constants, selects, and the table of all;
// control flow is in custom_control.cpp.
#include "custom.h"

namespace triton_runner::ir {

// ---- module @name attributes {...} {...}
void Custom::parse_module(Parser& p, State&) {
  if (p.peek() == '@') p.add_attr("sym_name", symbol_as_string(p));
  p.add_keyword_dict();
  p.regions_.push_back(p.region({}));
}
void Custom::print_module(Printer& out, const Op& op) {
  if (const Attr* name = op.attr("sym_name")) out.text(" "), out.symbol(name->string);
  out.dict(op.attrs, {"sym_name"}, true);
  out.text(" ");
  out.region(op.region());
}

const Attr* Custom::symbol_as_string(Parser& p) {
  p.ws();
  ++p.p_;
  std::string_view name = *p.p_ == '"' ? p.string_text() : p.suffix_id();
  if (name.empty()) p.expected("a symbol's name after '@'");
  return p.m_.string(name);
}
// ---- tt.func public @name(%x: type {attrs} loc(...), ...) -> (types) attributes {...} {...}
void Custom::parse_func(Parser& p, State&) {
  auto& m = p.m_;
  p.ws();
  for (std::string_view visibility : {"public", "private", "nested"})
    if (p.eat(visibility)) {
      p.add_attr("sym_visibility", m.string(visibility));
      break;
    }
  if (p.peek() != '@') return p.expected("the function's name (@name)");
  p.add_attr("sym_name", symbol_as_string(p));
  if (p.failed()) return;
  if (!p.expect("(")) return;
  std::vector<Arg> args;
  std::vector<const Type*> params, results;
  std::vector<const Attr*> arg_attrs, result_attrs;
  bool any_attrs = false, any_result_attrs = false, named = true;
  const Attr* no_attrs = m.dict({});
  auto attrs_of_one = [&] { return !p.failed() && p.peek() == '{' ? m.dict(p.dict()) : no_attrs; };
  p.list(")", [&] {
    Arg arg{};
    if (p.peek() != '%')
      arg.at = p.p_, named = false;
    else if (!p.argument_name(arg, "") || !p.expect(":"))
      return;
    arg.type = p.type();
    arg_attrs.push_back(attrs_of_one());
    any_attrs = any_attrs || !arg_attrs.back()->entries.empty();
    if (!p.failed() && p.peek() == 'l' && p.next_is("loc")) arg.loc = p.location();
    params.push_back(arg.type);
    args.push_back(arg);
  });
  if (p.failed()) return;
  if (p.eat("->")) {
    if (p.eat('('))
      p.list(")", [&] {
        results.push_back(p.type());
        any_result_attrs = any_result_attrs || p.peek() == '{';
        result_attrs.push_back(attrs_of_one());
      });
    else
      results.push_back(p.type());
  }
  if (p.failed()) return;
  p.add_attr("function_type", m.type_attr(m.function_type(params, results)));
  if (any_attrs) p.add_attr("arg_attrs", m.array(arg_attrs));
  if (any_result_attrs) p.add_attr("res_attrs", m.array(result_attrs));
  p.add_keyword_dict();
  if (p.failed()) return;
  if (p.peek() == '{') {
    if (!named) return p.expected("names for the arguments of a function with a body");
    p.regions_.push_back(p.region(args, true));
  } else {
    p.regions_.push_back(m.arena.make<Region>());
  }
}
// An attribute that holds so many numbers; null where an edit made it something else.
const Attr* Custom::numbers(const Op& op, std::string_view name, size_t count) {
  const Attr* a = op.attr(name);
  return a && a->raw.size() == count ? a : nullptr;
}
void Custom::print_func(Printer& out, const Op& op) {
  out.text(" ");
  if (const Attr* visibility = op.attr("sym_visibility")) out.text(visibility->string), out.text(" ");
  if (const Attr* name = op.attr("sym_name")) out.symbol(name->string);
  const Attr* function = op.attr("function_type");
  const Type* type = function ? function->type : nullptr;
  const Region* body = op.region();
  if (!type || type->kind != TypeKind::kFunction ||
      (body->first && body->first->args.size() != type->num_params))
    return out.attr(nullptr);
  const Attr* arg_attrs = op.attr("arg_attrs");
  const Attr* result_attrs = op.attr("res_attrs");
  out.text("(");
  for (uint32_t i = 0; i < type->num_params; ++i) {
    out.text(i ? ", " : "");
    const Value* arg = body->first ? &body->first->args[i] : nullptr;
    if (arg) out.put(arg, ": ");
    out.type(type->elements[i]);
    if (arg_attrs && i < arg_attrs->elements.size()) out.dict(arg_attrs->elements[i]->entries, {});
    if (arg) out.location(arg->loc);
  }
  out.text(")");
  size_t results = type->elements.size() - type->num_params;
  if (results) {
    out.text(" -> ");
    bool parens = results != 1 || result_attrs;
    if (parens) out.text("(");
    for (size_t i = 0; i < results; ++i) {
      out.put(i ? ", " : "", type->elements[type->num_params + i]);
      if (result_attrs) out.dict(result_attrs->elements[i]->entries, {});
    }
    if (parens) out.text(")");
  }
  out.dict(op.attrs, {"sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"}, true);
  if (body->first) out.text(" "), out.region(body, false);
}

// ---- arith.constant {attrs} value
void Custom::parse_constant(Parser& p, State&) {
  p.add_dict();
  const char* at = (p.ws(), p.p_);
  const Attr* value = p.cached_attr();
  if (p.failed()) return;
  if (!value->type || value->kind == AttrKind::kType) {
    if (p.eat(':')) {  // dense resources and other opaque values
      const Type* type = p.type();
      p.add_attr("value", value);
      p.types_.push_back(type);
      return;
    }
    if (value->kind == AttrKind::kOpaque) {
      size_t colon = value->text.rfind(" : ");
      if (colon != std::string_view::npos) {
        const char* back = p.p_;
        p.p_ = value->text.data() + colon + 3;
        const Type* type = p.type();
        p.p_ = back;
        p.add_attr("value", value);
        p.types_.push_back(type);
        return;
      }
    }
    p.p_ = at;
    return p.expected("a constant with its type, as in 1 : i32 or dense<0.0> : tensor<8xf32>");
  }
  p.add_attr("value", value);
  p.types_.push_back(value->type);
}
void Custom::print_constant(Printer& out, const Op& op) {
  out.dict(op.attrs, {"value"});
  out.text(" ");
  const Attr* value = op.attr("value");
  out.attr(value);
  // The type of a value that has none stands beside it, unless its text has it already.
  const bool has_type =
      value && (value->kind == AttrKind::kOpaque ? value->text.find(" : ") != value->text.npos
                                                 : value->type && value->kind != AttrKind::kType);
  if (value && !has_type) out.put(" : ", op.result()->type);
}

// ---- arith.select: the condition's type only where it is not i1
void Custom::parse_select(Parser& p, State& s) {
  p.ws();
  const char* first_at = p.p_;
  const Type* first = p.type();
  const Type* result = first;
  if (p.peek() == ',') {
    ++p.p_;
    p.check_type(p.operands_[s.operands_base], first, first_at);
    p.ws();
    first_at = p.p_;
    result = p.type();
  }
  if (p.failed()) return;
  p.check_type(p.operands_[s.operands_base + 1], result, first_at);
  p.check_type(p.operands_[s.operands_base + 2], result, first_at);
  p.types_.push_back(result);
}
void Custom::print_select(Printer& out, const Op& op) {
  out.text(" ");
  const Type* condition = op.operand(0)->type;
  if (condition->kind == TypeKind::kTensor) out.put(condition, ", ");
  out.type(op.result()->type);
}

namespace {
constexpr CustomSyntax kCustoms[] = {
#define X(name) {#name, Custom::parse_##name, Custom::print_##name},
    TRITON_RUNNER_CUSTOM_SYNTAXES(X)
#undef X
};
}  // namespace

const CustomSyntax* find_custom(std::string_view name) {
  for (const CustomSyntax& custom : kCustoms)
    if (custom.name == name) return &custom;
  return nullptr;
}

}  // namespace triton_runner::ir
