// Lowers control flow: scf and cf become moves and jumps; calls are inlined.
#include <algorithm>

#include "lowering.h"

namespace triton_runner::tile {
namespace {

// overlap: a slot is both written and read
void run_move(Task& t, const Instr& in, const bool& overlap) {
  if (!overlap) {
    for (uint32_t i = 0; i < in.num_operands; ++i) t.hand_on(in, i);
    return;
  }
  Value few[16];
  std::vector<Value> many(in.num_operands > 16 ? in.num_operands : 0);
  Value* saved = in.num_operands > 16 ? many.data() : few;
  for (uint32_t i = 0; i < in.num_operands; ++i) {
    saved[i] = t.value(in.operand(i));
    if (saved[i].buffer) ++saved[i].buffer->refs;
  }
  for (uint32_t i = 0; i < in.num_operands; ++i) {
    Value& to = t.value(in.result(i));
    if (to.buffer) t.drop(to);
    to = saved[i];
  }
}

struct ForData {
  bool is_unsigned;
  num::Type type;
};

// operands: lower, upper, step, which is not 0
uint64_t trips_of(Task& t, const Instr& in) {
  int64_t lower = t.bits(in.operand(0)), upper = t.bits(in.operand(1)), step = t.bits(in.operand(2));
  const ForData& d = in.as<ForData>();
  if (d.is_unsigned) {
    uint64_t lo = num::truncate_bits(lower, d.type), hi = num::truncate_bits(upper, d.type),
             s = num::truncate_bits(step, d.type);
    return hi > lo ? (hi - lo - 1) / s + 1 : 0;
  }
  if (upper <= lower || step < 0) return 0;
  return (static_cast<uint64_t>(upper) - static_cast<uint64_t>(lower) - 1) / static_cast<uint64_t>(step) + 1;
}

// results: iv, counter, trips; operands: lower, upper, step
const Instr* run_for_begin(Task& t, const Instr& in) {
  if (t.bits(in.operand(2)) == 0) return t.trap(in, exec::TrapKind::kInvalid, "the step of the loop is 0");
  const uint64_t trips = trips_of(t, in);
  t.set_uniform(in.result(0), t.bits(in.operand(0)));
  t.set_uniform(in.result(1), 0);
  t.set_uniform(in.result(2), static_cast<int64_t>(trips));
  return trips ? next(in) : in.target;
}

// results: iv, counter; operands: lower, upper, step. Goes on where the loop runs once, or else jumps.
const Instr* run_for_once(Task& t, const Instr& in) {
  if (t.bits(in.operand(2)) == 0 || trips_of(t, in) != 1) return in.target;
  t.set_uniform(in.result(0), t.bits(in.operand(0)));
  t.set_uniform(in.result(1), 0);
  return next(in);
}

// results: iv, counter; operands: trips, step
const Instr* run_for_next(Task& t, const Instr& in) {
  Value& counter = t.value(in.result(1));
  if (static_cast<uint64_t>(++counter.bits) >= static_cast<uint64_t>(t.bits(in.operand(0)))) return next(in);
  t.set_uniform(in.result(0), t.bits(in.result(0)) + t.bits(in.operand(1)));
  if (t.should_stop()) [[unlikely]]
    return t.stopped(in);
  return in.target;
}

// operands: condition; data: jump when it is (non-null) true or (null) false
const Instr* run_jump_if(Task& t, const Instr& in) {
  return (t.bits(in.operand(0)) != 0) == (in.data != nullptr) ? in.target : next(in);
}

const Instr* run_jump_if_equal(Task& t, const Instr& in) {
  return t.bits(in.operand(0)) == in.as<int64_t>() ? in.target : next(in);
}

template <bool kYields>
const Instr* run_count(Task& t, const Instr& in) {
  ++t.value(in.result()).bits;
  if (t.should_stop()) [[unlikely]]
    return t.stopped(in);
  return kYields ? t.yield_to(in.target) : in.target;
}

// Loops around these may be waiting for another program.
bool may_spin(const ir::Region& region) {
  for (const ir::Block* b = region.first; b; b = b->next)
    for (const ir::Op* op = b->first; op; op = op->next) {
      if (op->does(ir::Effect::kAtomics) || op->kind == ir::OpKind::kCall) return true;
      if (op->does(ir::Effect::kLoads) && op->int_attr("isVolatile", 0)) return true;
      for (const ir::Region* r : op->regions)
        if (may_spin(*r)) return true;
    }
  return false;
}

// Loads and arithmetic, and not much of it.
bool is_small_and_plain(const ir::Region& body) {
  if (body.first->next) return false;
  size_t ops = 0;
  for (const ir::Op* op = body.first->first; op && op != body.first->last; op = op->next) {
    using enum ir::Effect;
    const bool plain = op->effects().any(kElementwise | kMoves | kGenerates) || op->kind == ir::OpKind::kLoad;
    if (!plain || !op->regions.empty() || ++ops > 48) return false;
  }
  return true;
}

// The reductions that come next to the loop, if nothing else reads what it gives.
std::vector<const ir::Op*> sums_after(const ir::Op& loop) {
  std::vector<const ir::Op*> sums;
  for (const ir::Op* op = loop.next; op && op->kind == ir::OpKind::kReduce; op = op->next)
    if (op->num_operands() == 1 && op->operand(0)->defining_op == &loop) sums.push_back(op);
  if (sums.empty() || !is_small_and_plain(*loop.region(0))) return {};
  for (const ir::Value& v : loop.results)
    for (const ir::Use* u = v.first_use; u; u = u->next)
      if (std::find(sums.begin(), sums.end(), u->user) == sums.end()) return {};
  return sums;
}

}  // namespace

std::vector<Slot> slots_of(Lowering& l, std::span<ir::Use> uses) {
  std::vector<Slot> out;
  for (const ir::Use& u : uses) out.push_back(l.slot(u.value));
  return out;
}

std::vector<Slot> slots_of(Lowering& l, std::span<ir::Value> values) {
  std::vector<Slot> out;
  for (ir::Value& v : values) out.push_back(l.slot(&v));
  return out;
}

void Lowering::move(std::vector<Slot> to, std::vector<Slot> from, const ir::Op& op) {
  std::vector<Slot> t, f;
  for (size_t i = 0; i < to.size() && i < from.size(); ++i)
    if (to[i] != from[i]) t.push_back(to[i]), f.push_back(from[i]);
  if (t.empty()) return;
  // Each in its turn, a slot when all that read it have been moved: the stages of a pipeline go on by one. Where slots
  // are exchanged, there is no such order.
  size_t moved = 0;
  auto is_read = [&](Slot s) {
    return std::find(f.begin() + static_cast<ptrdiff_t>(moved), f.end(), s) != f.end();
  };
  for (size_t i = 0; i < t.size(); i = moved) {
    while (i < t.size() && is_read(t[i])) ++i;
    if (i == t.size()) break;
    std::swap(t[i], t[moved]);
    std::swap(f[i], f[moved]);
    ++moved;
  }
  emit<run_move>(op, t, f, make<bool>(moved < t.size()));
}

void Lowering::jump_if(Slot condition, bool when, Label target, const ir::Op& op) {
  static const char kTrue = 1;
  if (type_of(condition)->is_tensor)
    return fail(op, "control flow that differs between elements cannot stand in this region");
  emit_branch(run_jump_if, target, op, {}, {condition}, when ? &kTrue : nullptr);
}

void Lowering::back_edge(Label target, const ir::Op& op, Slot counter, bool spins) {
  size_t at = emit_branch(spins ? run_count<true> : run_count<false>, target, op, {counter}, {});
  pending_[at].falls_through = false;
}

namespace {

// The loop as it is where it runs once, and the sums after it: straight code, of which fuse.cpp makes one
// instruction, so that the tiles that it adds up are never whole. Jumps to `join`, or is jumped over.
void lower_once(Lowering& l, const ir::Op& op, const std::vector<const ir::Op*>& sums, Label join) {
  const ir::Region& body = *op.region(0);
  for (const ir::Op* sum : sums) slots_of(l, sum->results);  // of the outer scope: both ways set them
  Label more = l.new_label();
  l.scoped(body, [&] {
    auto args = body.first->args;
    auto initial = op.group("inits");
    for (size_t i = 0; i < initial.size(); ++i) l.alias(&args[i + 1], l.slot(initial[i].value));
    Slot iv = l.slot(&args[0]), counter = l.begin_loop();
    l.emit_branch(run_for_once, more, op, {iv, counter},
                  {l.slot(op.operand(0)), l.slot(op.operand(1)), l.slot(op.operand(2))},
                  l.make<ForData>(op.attr("unsignedCmp") != nullptr, l.type_of(iv)->element));
    const ir::Op* yield = l.lower_block(*body.first);
    for (size_t i = 0; i < op.results.size(); ++i) l.alias(&op.results[i], l.slot(yield->operand(i)));
    l.end_loop();
    for (const ir::Op* sum : sums) l.lower_op(*sum);
    l.jump(join, op);
  });
  l.bind(more);
}

}  // namespace

void lower_for(Lowering& l, const ir::Op& op) {
  const ir::Region& body = *op.region(0);
  std::vector<const ir::Op*> sums = l.fuses() ? sums_after(op) : std::vector<const ir::Op*>{};
  Label join = l.new_label();
  if (!sums.empty()) lower_once(l, op, sums, join);
  auto args = body.first->args;
  Slot iv = l.slot(&args[0]);
  auto carried = slots_of(l, args.subspan(1));
  l.move(carried, slots_of(l, op.group("inits")), op);
  Slot trips = l.new_slot(l.i64_type());
  Slot counter = l.begin_loop();
  Label exit = l.new_label(), top = l.new_label();
  bool is_unsigned = op.attr("unsignedCmp") != nullptr;
  l.emit_branch(run_for_begin, exit, op, {iv, counter, trips},
                {l.slot(op.operand(0)), l.slot(op.operand(1)), l.slot(op.operand(2))},
                l.make<ForData>(is_unsigned, l.type_of(iv)->element));
  l.bind(top);
  l.lower_region(body, [&](const ir::Op& yield) {
    l.move(carried, slots_of(l, yield.operand_uses), yield);
    l.emit_branch(run_for_next, top, op, {iv, counter}, {trips, l.slot(op.operand(2))});
  });
  l.end_loop();
  l.bind(exit);
  // The loop gives what its carried slots hold when it is left.
  for (size_t i = 0; i < op.results.size(); ++i) l.alias(&op.results[i], carried[i]);
  for (const ir::Op* sum : sums) {
    l.lower_op(*sum);
    l.skip_once(*sum);
  }
  l.bind(join);
}

void lower_if(Lowering& l, const ir::Op& op) {
  auto results = slots_of(l, op.results);
  bool has_else = op.regions.size() > 1 && op.region(1)->first;
  Label otherwise = l.new_label(), end = l.new_label();
  l.jump_if(l.slot(op.operand(0)), false, has_else ? otherwise : end, op);
  l.lower_region(*op.region(0), results, end);
  if (has_else) {
    l.bind(otherwise);
    l.lower_region(*op.region(1), results, end);
  }
  l.bind(end);
}

void lower_while(Lowering& l, const ir::Op& op) {
  const ir::Region &before = *op.region(0), &after = *op.region(1);
  auto results = slots_of(l, op.results);
  auto carried = slots_of(l, before.first->args), passed = slots_of(l, after.first->args);
  l.move(carried, slots_of(l, op.operand_uses), op);
  bool spins = may_spin(before) || may_spin(after);
  Slot counter = l.begin_loop();
  l.emit(run_zero, op, {counter}, {});
  Label top = l.new_label(), exit = l.new_label();
  l.bind(top);
  l.lower_region(before, [&](const ir::Op& condition) {
    auto values = slots_of(l, condition.operand_uses.subspan(1));
    Label go_on = l.new_label();
    l.jump_if(l.slot(condition.operand(0)), true, go_on, condition);
    l.move(results, values, condition);
    l.jump(exit, condition);
    l.bind(go_on);
    l.move(passed, values, condition);
  });
  l.lower_region(after, [&](const ir::Op& yield) {
    l.move(carried, slots_of(l, yield.operand_uses), yield);
    l.back_edge(top, yield, counter, spins);
  });
  l.end_loop();
  l.bind(exit);
}

namespace {
// Jumps to where the first operand is bits(i), to be bound; else it goes on.
template <class F>
std::vector<Label> jump_to_cases(Lowering& l, const ir::Op& op, size_t n, F bits) {
  std::vector<Label> labels;
  for (size_t i = 0; i < n; ++i) {
    labels.push_back(l.new_label());
    l.emit_branch(run_jump_if_equal, labels[i], op, {}, {l.slot(op.operand(0))}, l.make<int64_t>(bits(i)));
  }
  return labels;
}
}  // namespace

void lower_execute_region(Lowering& l, const ir::Op& op) {
  Label end = l.new_label();
  l.lower_region(*op.region(0), slots_of(l, op.results), end);
  l.bind(end);
}

void lower_index_switch(Lowering& l, const ir::Op& op) {
  auto results = slots_of(l, op.results);
  const ir::Attr* cases = op.attr("cases");
  size_t n = op.regions.size() - 1;  // region 0 is the default
  if (!cases || cases->raw.size() != n) return l.fail(op, "the cases of the switch do not match its regions");
  Label end = l.new_label();
  const std::vector<Label> labels =
      jump_to_cases(l, op, n, [&](size_t i) { return static_cast<int64_t>(cases->raw[i]); });
  l.lower_region(*op.region(0), results, end);
  for (size_t i = 0; i < n; ++i) {
    l.bind(labels[i]);
    l.lower_region(*op.region(static_cast<uint32_t>(i + 1)), results, end);
  }
  l.bind(end);
}

namespace {

// A jump to a block: its arguments are set, and a jump back counts as a loop's end.
void branch(Lowering& l, const ir::Op& op, const ir::Block* to, std::span<ir::Use> values) {
  l.move(slots_of(l, to->args), slots_of(l, values), op);
  Label label = l.block_label(to);
  if (to->index > op.block->index || to->region != op.block->region) return l.jump(label, op);
  Slot counter = l.begin_loop();
  l.end_loop();
  l.set_constant(counter, 0);  // counts from the launch's start: only probes and the poll use it
  l.back_edge(label, op, counter, may_spin(*to->region));
}

}  // namespace

void lower_br(Lowering& l, const ir::Op& op) { branch(l, op, op.successors[0], op.operand_uses); }

void lower_cond_br(Lowering& l, const ir::Op& op) {
  Label otherwise = l.new_label();
  l.jump_if(l.slot(op.operand(0)), false, otherwise, op);
  branch(l, op, op.successors[0], op.group("true_args"));
  l.bind(otherwise);
  branch(l, op, op.successors[1], op.group("false_args"));
}

void lower_switch(Lowering& l, const ir::Op& op) {
  const ir::Attr* cases = op.attr("case_values");
  size_t n = op.successors.size() - 1;
  const ir::Attr* segments = op.attr("case_operand_segments");
  if (n && (!cases || !segments || segments->raw.size() != n))
    return l.fail(op, "the cases of the switch do not match its blocks");
  const std::vector<Label> labels = jump_to_cases(l, op, n, [&](size_t i) {
    return num::sign_extend(cases->raw[cases->splat ? 0 : i], l.type_of(op.operand(0))->element);
  });
  branch(l, op, op.successors[0], op.group("default_args"));
  size_t at = 0;
  for (size_t i = 0; i < n; ++i) {
    l.bind(labels[i]);
    size_t count = segments->raw[i];
    branch(l, op, op.successors[i + 1], op.group("case_args").subspan(at, count));
    at += count;
  }
}

void lower_call(Lowering& l, const ir::Op& op) {
  const ir::Attr* callee = op.attr("callee");
  const ir::Op* func = callee ? l.code().module->find_function(callee->string) : nullptr;
  if (!func || func->regions.empty() || !func->region(0)->first)
    return l.fail(op, "the called function is not in this module");
  l.inline_call(op, *func);
}

}  // namespace triton_runner::tile
