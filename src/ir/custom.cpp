// The syntaxes that the assembly column cannot describe: modules, functions, structured control flow,
// branches, warp specialisation. Each is a pair, what the parser does and what the printer does.
#include "parser.h"
#include "printer.h"

namespace triton_runner::ir {

struct Custom {
  using State = Parser::OpState;
  using Arg = Parser::BlockArg;

  // ---- module @name attributes {...} {...}
  static void parse_module(Parser& p, State&) {
    if (p.peek() == '@') p.add_attr("sym_name", symbol_as_string(p));
    keyword_dict(p);
    p.regions_.push_back(p.region({}));
  }
  static void print_module(Printer& out, const Op& op) {
    if (const Attr* name = op.attr("sym_name")) out.text(" "), out.symbol(name->string);
    out.dict(op.attrs, {"sym_name"}, true);
    out.text(" ");
    out.region(op.region());
  }

  static const Attr* symbol_as_string(Parser& p) {
    p.ws();
    ++p.p_;
    std::string_view name = *p.p_ == '"' ? p.string_text() : p.suffix_id();
    if (name.empty()) p.expected("a symbol's name after '@'");
    Attr a{.kind = AttrKind::kString};
    a.string = name;
    return p.m_.intern(a);
  }
  static void keyword_dict(Parser& p) {
    if (!p.eat("attributes")) return;
    if (p.peek() != '{') return p.expected("'{'");
    for (const NamedAttr& entry : p.dict()) p.attrs_.push_back(entry);
  }
  static void plain_dict(Parser& p) {
    if (p.peek() == '{')
      for (const NamedAttr& entry : p.dict()) p.attrs_.push_back(entry);
  }

  // ---- tt.func public @name(%x: type {attrs} loc(...), ...) -> (types) attributes {...} {...}
  static void parse_func(Parser& p, State&) {
    auto& m = p.m_;
    p.ws();
    for (std::string_view visibility : {"public", "private", "nested"})
      if (p.eat(visibility)) {
        Attr a{.kind = AttrKind::kString};
        a.string = visibility;
        p.add_attr("sym_visibility", m.intern(a));
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
    const Attr* no_attrs = m.intern(Attr{.kind = AttrKind::kDict});
    if (!p.eat(')')) {
      do {
        p.ws();
        Arg arg{};
        arg.at = p.p_;
        if (*p.p_ == '%') {
          ++p.p_;
          arg.name = p.suffix_id();
          if (!p.expect(":")) return;
        } else {
          named = false;
        }
        arg.type = p.type();
        const Attr* attrs = no_attrs;
        if (!p.failed() && p.peek() == '{') {
          Attr a{.kind = AttrKind::kDict};
          a.entries = p.dict();
          attrs = m.intern(a);
          any_attrs = any_attrs || !a.entries.empty();
        }
        if (!p.failed() && p.peek() == 'l' && p.next_is("loc")) arg.loc = p.location();
        params.push_back(arg.type);
        args.push_back(arg);
        arg_attrs.push_back(attrs);
      } while (!p.failed() && p.eat(','));
      if (!p.expect(")")) return;
    }
    if (p.eat("->")) {
      if (p.eat('(')) {
        if (p.peek() != ')') do {
            results.push_back(p.type());
            const Attr* attrs = no_attrs;
            if (!p.failed() && p.peek() == '{') {
              Attr a{.kind = AttrKind::kDict};
              a.entries = p.dict();
              attrs = m.intern(a);
              any_result_attrs = true;
            }
            result_attrs.push_back(attrs);
          } while (!p.failed() && p.eat(','));
        p.expect(")");
      } else {
        results.push_back(p.type());
      }
    }
    if (p.failed()) return;
    Attr function_type{.kind = AttrKind::kType};
    function_type.type = m.function_type(params, results);
    p.add_attr("function_type", m.intern(function_type));
    auto add_list = [&](std::string_view key, const std::vector<const Attr*>& list) {
      Attr a{.kind = AttrKind::kArray};
      a.elements = m.arena.copy(list.data(), list.size());
      p.add_attr(key, m.intern(a));
    };
    if (any_attrs) add_list("arg_attrs", arg_attrs);
    if (any_result_attrs) add_list("res_attrs", result_attrs);
    keyword_dict(p);
    if (p.failed()) return;
    if (p.peek() == '{') {
      if (!named) return p.expected("names for the arguments of a function with a body");
      p.regions_.push_back(p.region(args, true));
    } else {
      p.regions_.push_back(m.arena.make<Region>());
    }
  }
  // An attribute that holds so many numbers; null where an edit made it something else.
  static const Attr* numbers(const Op& op, std::string_view name, size_t count) {
    const Attr* a = op.attr(name);
    return a && a->raw.size() == count ? a : nullptr;
  }
  static void print_func(Printer& out, const Op& op) {
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
      if (i) out.text(", ");
      const Value* arg = body->first ? &body->first->args[i] : nullptr;
      if (arg) out.value(arg), out.text(": ");
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
        if (i) out.text(", ");
        out.type(type->elements[type->num_params + i]);
        if (result_attrs) out.dict(result_attrs->elements[i]->entries, {});
      }
      if (parens) out.text(")");
    }
    out.dict(op.attrs, {"sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"}, true);
    if (body->first) out.text(" "), out.region(body, false);
  }

  // ---- arith.constant {attrs} value
  static void parse_constant(Parser& p, State&) {
    plain_dict(p);
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
  static void print_constant(Printer& out, const Op& op) {
    out.dict(op.attrs, {"value"});
    out.text(" ");
    const Attr* value = op.attr("value");
    out.attr(value);
    // The type of a value that has none stands beside it, unless its text has it already.
    const bool has_type =
        value && (value->kind == AttrKind::kOpaque ? value->text.find(" : ") != value->text.npos
                                                   : value->type && value->kind != AttrKind::kType);
    if (value && !has_type) out.text(" : "), out.type(op.result()->type);
  }

  // ---- arith.select: the condition's type only where it is not i1
  static void parse_select(Parser& p, State& s) {
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
  static void print_select(Printer& out, const Op& op) {
    out.text(" ");
    const Type* condition = op.operand(0)->type;
    if (condition->kind == TypeKind::kTensor) out.type(condition), out.text(", ");
    out.type(op.result()->type);
  }

  // (%a = %init, ...) : the arguments take their types from what follows.
  static void assignments(Parser& p, uint8_t group, std::vector<Arg>& args) {
    if (!p.expect("(")) return;
    if (p.eat(')')) return;
    do {
      p.ws();
      Arg arg{};
      arg.at = p.p_;
      if (*p.p_ != '%') return p.expected("an argument (%name = %value)");
      ++p.p_;
      arg.name = p.suffix_id();
      if (!p.expect("=")) return;
      p.push_operand(group);
      args.push_back(arg);
    } while (!p.failed() && p.eat(','));
    p.expect(")");
  }
  static void print_assignments(Printer& out, std::span<Value> args, std::span<const Use> inits) {
    out.text("(");
    for (size_t i = 0; i < args.size() && i < inits.size(); ++i) {
      if (i) out.text(", ");
      out.value(&args[i]);
      out.text(" = ");
      out.value(inits[i].value);
    }
    out.text(")");
  }
  // type or (types), `count` of them
  static void type_list(Parser& p, std::vector<const Type*>& into) {
    if (p.eat('(')) {
      if (p.peek() != ')') do
          into.push_back(p.type());
        while (!p.failed() && p.eat(','));
      p.expect(")");
    } else {
      into.push_back(p.type());
    }
  }
  static void print_type_list(Printer& out, std::span<const Value> values, bool always_parens) {
    bool parens = always_parens || values.size() != 1;
    if (parens) out.text("(");
    for (size_t i = 0; i < values.size(); ++i) {
      if (i) out.text(", ");
      out.type(values[i].type);
    }
    if (parens) out.text(")");
  }

  // ---- scf.for %i = %lower to %upper step %step iter_args(...) -> (types) : type {...} {attrs}
  static void parse_for(Parser& p, State& s) {
    if (p.eat("unsigned")) p.add_attr("unsignedCmp", p.m_.unit());
    std::vector<Arg> args(1);
    p.ws();
    args[0].at = p.p_;
    if (*p.p_ != '%') return p.expected("the induction variable (%name)");
    ++p.p_;
    args[0].name = p.suffix_id();
    if (!p.expect("=")) return;
    p.push_operand(0);
    if (!p.expect("to")) return;
    p.push_operand(1);
    if (!p.expect("step")) return;
    p.push_operand(2);
    std::vector<const Type*> types;
    if (p.eat("iter_args")) {
      assignments(p, 3, args);
      if (!p.expect("->")) return;
      const char* at = p.p_;
      type_list(p, types);
      if (p.failed()) return;
      if (types.size() + 1 != args.size())
        return p.fail(at, "scf.for has " + std::to_string(args.size() - 1) + " iter_args, but " +
                              std::to_string(types.size()) + " types");
    }
    const Type* index = p.m_.index_type();
    p.ws();
    const char* at = p.p_;
    if (p.eat(':')) {
      p.ws();
      at = p.p_;
      index = p.type();
    }
    if (p.failed()) return;
    args[0].type = index;
    for (size_t i = 0; i < 3; ++i) p.check_type(p.operands_[s.operands_base + i], index, at);
    for (size_t i = 0; i < types.size(); ++i) {
      args[i + 1].type = types[i];
      p.check_type(p.operands_[s.operands_base + 3 + i], types[i], at);
      p.types_.push_back(types[i]);
    }
    p.regions_.push_back(p.region(args));
    if (!p.failed()) plain_dict(p);
  }
  static void print_for(Printer& out, const Op& op) {
    const Region* body = op.region();
    std::span<Value> args = body->first->args;
    out.text(op.attr("unsignedCmp") ? " unsigned " : " ");
    out.value(&args[0]);
    out.text(" = "), out.value(op.operand_of(0));
    out.text(" to "), out.value(op.operand_of(1));
    out.text(" step "), out.value(op.operand_of(2));
    if (!op.group(3).empty()) {
      out.text(" iter_args");
      print_assignments(out, args.subspan(1), op.group(3));
      out.text(" -> ");
      print_type_list(out, op.results, true);
    }
    out.text(" ");
    if (args[0].type->kind != TypeKind::kIndex) out.text(" : "), out.type(args[0].type), out.text(" ");
    out.region(body, false, op.results.empty());
    out.dict(op.attrs, {"unsignedCmp"});
  }

  // ---- scf.if %condition -> (types) {...} else {...} {attrs}
  static void parse_if(Parser& p, State& s) {
    p.push_operand(0);
    if (p.eat("->")) {
      std::vector<const Type*> types;
      type_list(p, types);
      p.types_.insert(p.types_.end(), types.begin(), types.end());
    }
    if (p.failed()) return;
    Parser::Operand condition = p.operands_[s.operands_base];
    p.check_type(condition, p.m_.integer_type(1), condition.at);
    p.regions_.push_back(p.region({}));
    if (p.eat("else"))
      p.regions_.push_back(p.region({}));
    else if (!p.failed())
      p.regions_.push_back(p.m_.arena.make<Region>());
    if (!p.failed()) plain_dict(p);
  }
  static void print_if(Printer& out, const Op& op) {
    out.text(" ");
    out.value(op.operand(0));
    if (!op.results.empty()) {
      out.text(" -> ");
      print_type_list(out, op.results, true);
    }
    out.text(" ");
    out.region(op.region(0), false, op.results.empty());
    if (op.regions.size() > 1 && op.region(1)->first) {
      out.text(" else ");
      out.region(op.region(1), false, op.results.empty());
    }
    out.dict(op.attrs, {});
  }

  // ---- scf.while (%a = %init) : (types) -> types {...} do {...} attributes {attrs}
  static void parse_while(Parser& p, State& s) {
    std::vector<Arg> args;
    if (p.peek() == '(') assignments(p, 0, args);
    if (!p.expect(":")) return;
    p.ws();
    const char* at = p.p_;
    const Type* type = p.function_type();
    if (p.failed()) return;
    if (type->kind != TypeKind::kFunction || type->num_params != args.size())
      return p.fail(at,
                    "scf.while has " + std::to_string(args.size()) + " arguments, its type another number");
    for (size_t i = 0; i < args.size(); ++i) {
      args[i].type = type->elements[i];
      p.check_type(p.operands_[s.operands_base + i], args[i].type, at);
    }
    for (size_t i = type->num_params; i < type->elements.size(); ++i) p.types_.push_back(type->elements[i]);
    p.regions_.push_back(p.region(args));
    if (!p.expect("do")) return;
    p.regions_.push_back(p.region({}));
    if (!p.failed()) keyword_dict(p);
  }
  static void print_while(Printer& out, const Op& op) {
    if (op.num_operands()) {
      out.text(" ");
      print_assignments(out, op.region(0)->first->args, op.operand_uses);
    }
    out.text(" : (");
    out.types(op.operand_uses);
    out.text(") -> ");
    print_type_list(out, op.results, false);
    out.text(" ");
    out.region(op.region(0), false);
    out.text(" do ");
    out.region(op.region(1), true);
    out.dict(op.attrs, {}, true);
  }

  // ---- scf.execute_region -> types no_inline {...} {attrs}
  static void parse_execute_region(Parser& p, State&) {
    if (p.eat("->")) {
      std::vector<const Type*> types;
      type_list(p, types);
      p.types_.insert(p.types_.end(), types.begin(), types.end());
    }
    if (p.eat("no_inline")) p.add_attr("no_inline", p.m_.unit());
    p.regions_.push_back(p.region({}));
    if (!p.failed()) plain_dict(p);
  }
  static void print_execute_region(Printer& out, const Op& op) {
    if (!op.results.empty()) out.text(" -> "), print_type_list(out, op.results, false);
    if (op.attr("no_inline")) out.text(" no_inline");
    out.text(" ");
    out.region(op.region(), false);
    out.dict(op.attrs, {"no_inline"});
  }

  // ---- scf.index_switch %arg {attrs} -> types case 2 {...} default {...}
  static void parse_index_switch(Parser& p, State&) {
    p.push_operand(0);
    plain_dict(p);
    if (p.eat("->")) {
      std::vector<const Type*> types;
      type_list(p, types);
      p.types_.insert(p.types_.end(), types.begin(), types.end());
    }
    std::vector<uint64_t> cases;
    std::vector<Region*> regions;
    while (!p.failed() && p.eat("case")) {
      cases.push_back(static_cast<uint64_t>(p.integer()));
      regions.push_back(p.region({}));
    }
    if (!p.failed() && p.expect("default")) p.regions_.push_back(p.region({}));
    p.regions_.insert(p.regions_.end(), regions.begin(), regions.end());
    Attr a{.kind = AttrKind::kDenseArray};
    a.type = p.m_.integer_type(64);
    a.raw = p.m_.arena.copy(cases.data(), cases.size());
    p.add_attr("cases", p.m_.intern(a));
  }
  static void print_index_switch(Printer& out, const Op& op) {
    out.text(" ");
    out.value(op.operand(0));
    out.dict(op.attrs, {"cases"});
    if (!op.results.empty()) out.text(" -> "), print_type_list(out, op.results, false);
    const Attr* cases = numbers(op, "cases", op.regions.size() - 1);
    if (!cases) return out.attr(nullptr);
    for (size_t i = 0; i < cases->raw.size(); ++i) {
      out.new_line();
      out.text("case " + std::to_string(static_cast<int64_t>(cases->raw[i])) + " ");
      out.region(op.regions[i + 1]);
    }
    out.new_line();
    out.text("default ");
    out.region(op.regions[0]);
  }

  // ---- branches
  static void print_successor(Printer& out, const Block* block, std::span<const Use> args) {
    out.block_name(block);
    if (args.empty()) return;
    out.text("(");
    out.values(args);
    out.text(" : ");
    out.types(args);
    out.text(")");
  }
  static void parse_br(Parser& p, State&) {
    p.successor(0);
    if (!p.failed()) plain_dict(p);
  }
  static void print_br(Printer& out, const Op& op) {
    out.text(" ");
    print_successor(out, op.successors[0], op.operand_uses);
    out.dict(op.attrs, {});
  }
  static void parse_cond_br(Parser& p, State& s) {
    p.push_operand(0);
    if (p.eat("weights")) {
      if (!p.expect("(")) return;
      Attr weights{.kind = AttrKind::kDenseArray};
      weights.type = p.m_.integer_type(32);
      std::vector<uint64_t> raw;
      if (!p.expect("[")) return;
      do raw.push_back(static_cast<uint64_t>(p.integer()));
      while (!p.failed() && p.eat(','));
      p.expect("]");
      p.expect(")");
      weights.raw = p.m_.arena.copy(raw.data(), raw.size());
      p.add_attr("branch_weights", p.m_.intern(weights));
    }
    if (!p.expect(",")) return;
    p.successor(1);
    if (!p.expect(",")) return;
    p.successor(2);
    if (p.failed()) return;
    Parser::Operand condition = p.operands_[s.operands_base];
    p.check_type(condition, p.m_.integer_type(1), condition.at);
    plain_dict(p);
  }
  static void print_cond_br(Printer& out, const Op& op) {
    out.text(" ");
    out.value(op.operand(0));
    if (const Attr* weights = op.attr("branch_weights")) {
      out.text(" weights([");
      for (size_t i = 0; i < weights->raw.size(); ++i)
        out.text((i ? ", " : "") + std::to_string(static_cast<int32_t>(weights->raw[i])));
      out.text("])");
    }
    out.text(", ");
    print_successor(out, op.successors[0], op.group(1));
    out.text(", ");
    print_successor(out, op.successors[1], op.group(2));
    out.dict(op.attrs, {"branch_weights"});
  }
  // cf.switch %flag : i32, [default: ^bb1(...), 42: ^bb2(...)]
  static void parse_switch(Parser& p, State& s) {
    p.push_operand(0);
    if (!p.expect(":")) return;
    p.ws();
    const char* at = p.p_;
    const Type* type = p.type();
    if (p.failed()) return;
    p.check_type(p.operands_[s.operands_base], type, at);
    if (!p.expect(",") || !p.expect("[") || !p.expect("default") || !p.expect(":")) return;
    p.successor(1);
    std::vector<uint64_t> values, sizes;
    while (!p.failed() && p.eat(',')) {
      values.push_back(static_cast<uint64_t>(p.integer()));
      if (!p.expect(":")) return;
      size_t before = p.operands_.size();
      p.successor(2);
      sizes.push_back(p.operands_.size() - before);
    }
    if (!p.expect("]")) return;
    Attr a{.kind = AttrKind::kDenseArray};
    a.type = type->kind == TypeKind::kInteger ? type : p.m_.integer_type(32);
    a.raw = p.m_.arena.copy(values.data(), values.size());
    p.add_attr("case_values", p.m_.intern(a));
    a.type = p.m_.integer_type(32);
    a.raw = p.m_.arena.copy(sizes.data(), sizes.size());
    p.add_attr("case_operand_segments", p.m_.intern(a));
    plain_dict(p);
  }
  static void print_switch(Printer& out, const Op& op) {
    out.text(" ");
    out.value(op.operand(0));
    out.text(" : "), out.type(op.operand(0)->type);
    out.text(", [");
    out.new_line();
    out.text("  default: ");
    print_successor(out, op.successors[0], op.group(1));
    const Attr* values = numbers(op, "case_values", op.successors.size() - 1);
    const Attr* sizes = numbers(op, "case_operand_segments", op.successors.size() - 1);
    if (!values || !sizes) return out.attr(nullptr);
    size_t at = 0, all = 0;
    for (uint64_t n : sizes->raw) all = n > op.group(2).size() ? n : all + n;
    if (all != op.group(2).size()) return out.attr(nullptr);
    for (size_t i = 0; i < values->raw.size(); ++i) {
      out.text(",");
      out.new_line();
      out.text("  " + std::to_string(static_cast<int64_t>(values->raw[i])) + ": ");
      print_successor(out, op.successors[i + 1], op.group(2).subspan(at, sizes->raw[i]));
      at += sizes->raw[i];
    }
    out.new_line();
    out.text("]");
    out.dict(op.attrs, {"case_values", "case_operand_segments"});
  }

  // ---- ttg.warp_specialize(%captures) attributes {...} default {...} partition0(%args) num_warps(4) {...} :
  // type
  static void parse_warp_specialize(Parser& p, State& s) {
    auto& m = p.m_;
    if (!p.expect("(")) return;
    p.operand_list(0);
    if (!p.expect(")")) return;
    keyword_dict(p);
    if (!p.expect("default")) return;
    p.regions_.push_back(p.region({}));
    std::vector<Region*> partitions;
    std::vector<uint64_t> warps;
    while (!p.failed()) {
      p.ws();
      const char* at = p.p_;
      std::string_view w = p.word();
      if (!w.starts_with("partition") || w != "partition" + std::to_string(partitions.size())) {
        p.p_ = at;
        break;
      }
      std::vector<Arg> args;
      if (!p.expect("(")) return;
      p.block_args(args, ')');
      if (!p.expect("num_warps") || !p.expect("(")) return;
      warps.push_back(static_cast<uint64_t>(p.integer()));
      if (!p.expect(")")) return;
      partitions.push_back(p.region(args, true));
    }
    if (p.failed() || !p.expect(":")) return;
    p.functional(0, s);
    if (p.failed()) return;
    Attr a{.kind = AttrKind::kDenseArray};
    a.type = m.integer_type(32);
    a.raw = m.arena.copy(warps.data(), warps.size());
    p.add_attr("partitionNumWarps", m.intern(a));
    // The op that holds the partitions is implied.
    Op* holder = m.arena.make<Op>();
    holder->kind = OpKind::kWarpSpecializePartitions;
    holder->name = "ttg.warp_specialize.partitions";
    holder->regions = m.arena.copy(partitions.data(), partitions.size());
    holder->group_ends = m.arena.array<uint32_t>(1);
    for (Region* region : partitions) region->parent = holder;
    Region* region = m.arena.make<Region>();
    Block* block = m.arena.make<Block>();
    region->first = region->last = block;
    block->region = region;
    block->first = block->last = holder;
    holder->block = block;
    p.regions_.push_back(region);
  }
  static void print_warp_specialize(Printer& out, const Op& op) {
    out.text("(");
    out.values(op.operand_uses);
    out.text(")");
    out.dict(op.attrs, {"partitionNumWarps"}, true);
    out.new_line();
    out.text("default ");
    out.region(op.region(0), false);
    const Op* holder = op.region(1)->first->first;
    const Attr* warps = numbers(op, "partitionNumWarps", holder->regions.size());
    if (!warps) return out.attr(nullptr);
    for (size_t i = 0; i < holder->regions.size(); ++i) {
      out.new_line();
      out.text("partition" + std::to_string(i) + "(");
      std::span<Value> args = holder->regions[i]->first->args;
      for (size_t k = 0; k < args.size(); ++k) {
        if (k) out.text(", ");
        out.value(&args[k]);
        out.text(": "), out.type(args[k].type);
        out.location(args[k].loc);
      }
      out.text(") num_warps(" + std::to_string(warps->raw[i]) + ") ");
      out.region(holder->regions[i], false);
    }
    out.text(" : (");
    out.types(op.operand_uses);
    out.text(") -> ");
    print_type_list(out, op.results, false);
  }

  // ---- %bar[%pred], %bar[%pred]: the groups `barriers` and `barrier_preds`
  static uint8_t group_named(OpKind kind, std::string_view name) {
    const auto& groups = op_syntax(kind).groups;
    for (size_t i = 0; i < groups.size(); ++i)
      if (groups[i].name == name) return static_cast<uint8_t>(i);
    return 0;
  }
  static void parse_barriers(Parser& p, State& s) {
    uint8_t barriers = group_named(s.kind, "barriers"), preds = group_named(s.kind, "barrier_preds");
    do {
      p.push_operand(barriers);
      if (!p.expect("[")) return;
      p.push_operand(preds);
      if (!p.expect("]")) return;
    } while (p.eat(','));
  }
  static void print_barriers(Printer& out, const Op& op) {
    auto barriers = op.group(group_named(op.kind, "barriers")),
         preds = op.group(group_named(op.kind, "barrier_preds"));
    out.text(" ");
    for (size_t i = 0; i < barriers.size(); ++i) {
      if (i) out.text(", ");
      out.value(barriers[i].value);
      out.text("["), out.value(preds[i].value), out.text("]");
    }
  }
};

namespace {
constexpr CustomSyntax kCustoms[] = {
    {"module", Custom::parse_module, Custom::print_module},
    {"func", Custom::parse_func, Custom::print_func},
    {"constant", Custom::parse_constant, Custom::print_constant},
    {"select", Custom::parse_select, Custom::print_select},
    {"for", Custom::parse_for, Custom::print_for},
    {"if", Custom::parse_if, Custom::print_if},
    {"while", Custom::parse_while, Custom::print_while},
    {"execute_region", Custom::parse_execute_region, Custom::print_execute_region},
    {"index_switch", Custom::parse_index_switch, Custom::print_index_switch},
    {"br", Custom::parse_br, Custom::print_br},
    {"cond_br", Custom::parse_cond_br, Custom::print_cond_br},
    {"switch", Custom::parse_switch, Custom::print_switch},
    {"warp_specialize", Custom::parse_warp_specialize, Custom::print_warp_specialize},
    {"barriers", Custom::parse_barriers, Custom::print_barriers},
};
}  // namespace

const CustomSyntax* find_custom(std::string_view name) {
  for (const CustomSyntax& custom : kCustoms)
    if (custom.name == name) return &custom;
  return nullptr;
}

}  // namespace triton_runner::ir
