// Parses and prints the custom syntaxes of control flow: scf, branches, switches, warp specialisation and its
// barriers. Those of modules, functions and constants are in custom.cpp.
#include "custom.h"

namespace triton_runner::ir {

// (%a = %init, ...) : the arguments take their types from what follows.
void Custom::assignments(Parser& p, uint8_t group, std::vector<Arg>& args) {
  if (!p.expect("(")) return;
  p.list(")", [&] {
    Arg arg{};
    if (!p.argument_name(arg, "an argument (%name = %value)") || !p.expect("=")) return;
    p.push_operand(group);
    args.push_back(arg);
  });
}
void Custom::print_assignments(Printer& out, std::span<Value> args, std::span<const Use> inits) {
  out.text("(");
  for (size_t i = 0; i < args.size() && i < inits.size(); ++i)
    out.put(i ? ", " : "", &args[i], " = ", inits[i].value);
  out.text(")");
}
// -> types, where there are any.
void Custom::results(Parser& p) {
  if (p.eat("->")) p.type_list(p.types_);
}
void Custom::print_results(Printer& out, const Op& op, bool always_parens) {
  if (!op.results.empty()) out.text(" -> "), out.function_results(op.results, always_parens);
}

// ---- scf.for %i = %lower to %upper step %step iter_args(...) -> (types) : type {...} {attrs}
void Custom::parse_for(Parser& p, State& s) {
  if (p.eat("unsigned")) p.add_attr("unsignedCmp", p.m_.unit());
  std::vector<Arg> args(1);
  if (!p.argument_name(args[0], "the induction variable (%name)") || !p.expect("=")) return;
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
    p.type_list(types);
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
  if (!p.failed()) p.add_dict();
}
void Custom::print_for(Printer& out, const Op& op) {
  const Region* body = op.region();
  std::span<Value> args = body->first->args;
  out.put(op.attr("unsignedCmp") ? " unsigned " : " ", &args[0], " = ", op.operand_of("lower"), " to ",
          op.operand_of("upper"), " step ", op.operand_of("step"));
  if (!op.group("inits").empty()) {
    out.text(" iter_args");
    print_assignments(out, args.subspan(1), op.group("inits"));
    out.text(" -> ");
    out.function_results(op.results, true);
  }
  out.text(" ");
  if (args[0].type->kind != TypeKind::kIndex) out.put(" : ", args[0].type, " ");
  out.region(body, false, op.results.empty());
  out.dict(op.attrs, {"unsignedCmp"});
}

// ---- scf.if %condition -> (types) {...} else {...} {attrs}
void Custom::parse_if(Parser& p, State& s) {
  p.push_operand(0);
  results(p);
  if (p.failed()) return;
  Parser::Operand condition = p.operands_[s.operands_base];
  p.check_type(condition, p.m_.integer_type(1), condition.at);
  p.regions_.push_back(p.region({}));
  if (p.eat("else"))
    p.regions_.push_back(p.region({}));
  else if (!p.failed())
    p.regions_.push_back(p.m_.arena.make<Region>());
  if (!p.failed()) p.add_dict();
}
void Custom::print_if(Printer& out, const Op& op) {
  out.put(" ", op.operand(0));
  print_results(out, op, true);
  out.text(" ");
  out.region(op.region(0), false, op.results.empty());
  if (op.regions.size() > 1 && op.region(1)->first) {
    out.text(" else ");
    out.region(op.region(1), false, op.results.empty());
  }
  out.dict(op.attrs, {});
}

// ---- scf.while (%a = %init) : (types) -> types {...} do {...} attributes {attrs}
void Custom::parse_while(Parser& p, State& s) {
  std::vector<Arg> args;
  if (p.peek() == '(') assignments(p, 0, args);
  if (!p.expect(":")) return;
  p.ws();
  const char* at = p.p_;
  const Type* type = p.function_type();
  if (p.failed()) return;
  if (type->kind != TypeKind::kFunction || type->num_params != args.size())
    return p.fail(at, "scf.while has " + std::to_string(args.size()) + " arguments, its type another number");
  for (size_t i = 0; i < args.size(); ++i) {
    args[i].type = type->elements[i];
    p.check_type(p.operands_[s.operands_base + i], args[i].type, at);
  }
  for (size_t i = type->num_params; i < type->elements.size(); ++i) p.types_.push_back(type->elements[i]);
  p.regions_.push_back(p.region(args));
  if (!p.expect("do")) return;
  p.regions_.push_back(p.region({}));
  if (!p.failed()) p.add_keyword_dict();
}
void Custom::print_while(Printer& out, const Op& op) {
  if (op.num_operands()) {
    out.text(" ");
    print_assignments(out, op.region(0)->first->args, op.operand_uses);
  }
  out.text(" : ");
  out.signature(op);
  out.text(" ");
  out.region(op.region(0), false);
  out.text(" do ");
  out.region(op.region(1), true);
  out.dict(op.attrs, {}, true);
}

// ---- scf.execute_region -> types no_inline {...} {attrs}
void Custom::parse_execute_region(Parser& p, State&) {
  results(p);
  if (p.eat("no_inline")) p.add_attr("no_inline", p.m_.unit());
  p.regions_.push_back(p.region({}));
  if (!p.failed()) p.add_dict();
}
void Custom::print_execute_region(Printer& out, const Op& op) {
  print_results(out, op);
  out.text(op.attr("no_inline") ? " no_inline " : " ");
  out.region(op.region(), false);
  out.dict(op.attrs, {"no_inline"});
}

// ---- scf.index_switch %arg {attrs} -> types case 2 {...} default {...}
void Custom::parse_index_switch(Parser& p, State&) {
  p.push_operand(0);
  p.add_dict();
  results(p);
  std::vector<uint64_t> cases;
  std::vector<Region*> regions;
  while (!p.failed() && p.eat("case")) {
    cases.push_back(static_cast<uint64_t>(p.integer()));
    regions.push_back(p.region({}));
  }
  if (!p.failed() && p.expect("default")) p.regions_.push_back(p.region({}));
  p.regions_.insert(p.regions_.end(), regions.begin(), regions.end());
  p.add_attr("cases", p.m_.numbers(p.m_.integer_type(64), cases));
}
void Custom::print_index_switch(Printer& out, const Op& op) {
  out.put(" ", op.operand(0));
  out.dict(op.attrs, {"cases"});
  print_results(out, op);
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
void Custom::print_successor(Printer& out, const Block* block, std::span<const Use> args) {
  out.block_name(block);
  if (args.empty()) return;
  out.text("(");
  out.values(args);
  out.text(" : ");
  out.types(args);
  out.text(")");
}
void Custom::parse_br(Parser& p, State&) {
  p.successor(0);
  if (!p.failed()) p.add_dict();
}
void Custom::print_br(Printer& out, const Op& op) {
  out.text(" ");
  print_successor(out, op.successors[0], op.operand_uses);
  out.dict(op.attrs, {});
}
void Custom::parse_cond_br(Parser& p, State& s) {
  p.push_operand(0);
  if (p.eat("weights")) {
    if (!p.expect("(")) return;
    p.add_attr("branch_weights", p.m_.numbers(p.m_.integer_type(32), p.integers()));
    p.expect(")");
  }
  if (!p.expect(",")) return;
  p.successor(1);
  if (!p.expect(",")) return;
  p.successor(2);
  if (p.failed()) return;
  Parser::Operand condition = p.operands_[s.operands_base];
  p.check_type(condition, p.m_.integer_type(1), condition.at);
  p.add_dict();
}
void Custom::print_cond_br(Printer& out, const Op& op) {
  out.put(" ", op.operand(0));
  if (const Attr* weights = op.attr("branch_weights")) {
    out.text(" weights([");
    separated(out.out, weights->raw,
              [&](uint64_t weight) { out.text(std::to_string(static_cast<int32_t>(weight))); });
    out.text("])");
  }
  out.text(", ");
  print_successor(out, op.successors[0], op.group("true_args"));
  out.text(", ");
  print_successor(out, op.successors[1], op.group("false_args"));
  out.dict(op.attrs, {"branch_weights"});
}
// cf.switch %flag : i32, [default: ^bb1(...), 42: ^bb2(...)]
void Custom::parse_switch(Parser& p, State& s) {
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
  const Type* i32 = p.m_.integer_type(32);
  p.add_attr("case_values", p.m_.numbers(type->kind == TypeKind::kInteger ? type : i32, values));
  p.add_attr("case_operand_segments", p.m_.numbers(i32, sizes));
  p.add_dict();
}
void Custom::print_switch(Printer& out, const Op& op) {
  out.put(" ", op.operand(0), " : ", op.operand(0)->type, ", [");
  out.new_line();
  out.text("  default: ");
  print_successor(out, op.successors[0], op.group("default_args"));
  const Attr* values = numbers(op, "case_values", op.successors.size() - 1);
  const Attr* sizes = numbers(op, "case_operand_segments", op.successors.size() - 1);
  if (!values || !sizes) return out.attr(nullptr);
  size_t at = 0, all = 0;
  for (uint64_t n : sizes->raw) all = n > op.group("case_args").size() ? n : all + n;
  if (all != op.group("case_args").size()) return out.attr(nullptr);
  for (size_t i = 0; i < values->raw.size(); ++i) {
    out.text(",");
    out.new_line();
    out.text("  " + std::to_string(static_cast<int64_t>(values->raw[i])) + ": ");
    print_successor(out, op.successors[i + 1], op.group("case_args").subspan(at, sizes->raw[i]));
    at += sizes->raw[i];
  }
  out.new_line();
  out.text("]");
  out.dict(op.attrs, {"case_values", "case_operand_segments"});
}

// ---- ttg.warp_specialize(%captures) attributes {...} default {...} partition0(%args) num_warps(4) {...} :
// type
void Custom::parse_warp_specialize(Parser& p, State& s) {
  auto& m = p.m_;
  if (!p.expect("(")) return;
  p.operand_list(0);
  if (!p.expect(")")) return;
  p.add_keyword_dict();
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
  p.add_attr("partitionNumWarps", m.numbers(m.integer_type(32), warps));
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
void Custom::print_warp_specialize(Printer& out, const Op& op) {
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
    out.text("partition" + std::to_string(i));
    out.block_args(holder->regions[i]->first->args);
    out.text(" num_warps(" + std::to_string(warps->raw[i]) + ") ");
    out.region(holder->regions[i], false);
  }
  out.text(" : ");
  out.signature(op);
}

// ---- %bar[%pred], %bar[%pred]: the groups `barriers` and `barrier_preds`
uint8_t Custom::group_named(OpKind kind, std::string_view name) {
  const auto& groups = op_syntax(kind).groups;
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i].name == name) return static_cast<uint8_t>(i);
  return 0;
}
void Custom::parse_barriers(Parser& p, State& s) {
  uint8_t barriers = group_named(s.kind, "barriers"), preds = group_named(s.kind, "barrier_preds");
  do {
    p.push_operand(barriers);
    if (!p.expect("[")) return;
    p.push_operand(preds);
    if (!p.expect("]")) return;
  } while (p.eat(','));
}
void Custom::print_barriers(Printer& out, const Op& op) {
  auto barriers = op.group("barriers"), preds = op.group("barrier_preds");
  out.text(" ");
  for (size_t i = 0; i < barriers.size(); ++i) {
    out.put(i ? ", " : "", barriers[i].value);
    if (i < preds.size()) out.put("[", preds[i].value, "]");  // 3.3 had none
  }
}

}  // namespace triton_runner::ir
