// Finds integers that overflow, follows them to where they matter, and tells how they came there.
#include "check/overflow.h"

#include <algorithm>
#include <array>
#include <deque>
#include <ranges>
#include <set>

#include <triton_runner/ir/enums.h>
#include <triton_runner/machine/exact.h>

#include "lowering.h"
#include "ops/combine.h"
#include "ops/memory.h"
#include "trace/location.h"

namespace triton_runner::tile {

using machine::Integer;
using enum ir::Effect;

namespace {

constexpr size_t kOrigins = 4096;  // of a program; further ones take the place of the instruction's last

bool is_number(const TileType& type) {
  return type.size > 0 && (num::is_integer(type.element) || type.element == num::Type::kPointer);
}

uint32_t register_bits(num::Type type) { return type == num::Type::kI1 ? 1 : 8 * num::size_of(type); }

// A shadow's number: that of smallest value stands for what is lost.
int64_t least_of(num::Type type) {
  return type == num::Type::kI1 ? 1 : INT64_MIN >> (64 - register_bits(type));
}

// The integers of a slot and what is missing from each.
class Integers {
 public:
  Integers(Task& t, Shadows& shadows, Slot s)
      : type_(t.type(s)), marks_(shadows.lanes(t, s)), mark_(shadows.bits(s)) {
    if (t.is_uniform(s))
      bits_ = static_cast<uint64_t>(t.bits(s));
    else
      look_.emplace(t, s);
  }
  Integer at(int64_t element) const {
    const int64_t e = type_.n == 1 ? 0 : element;
    Integer out{bits_, register_bits(type_.element), mark_};
    if (look_) out.bits = num::load_bits(look_->data() + e * type_.size, type_.element);
    if (marks_.data)
      out.wraps =
          num::sign_extend(num::load_bits(marks_.data + e * type_.size, type_.element), type_.element);
    if (out.wraps != 0 && (out.width == 1 || out.wraps == least_of(type_.element)))
      out.wraps = Integer::kLost;
    return out;
  }

 private:
  const TileType& type_;
  Lanes marks_;
  int64_t mark_;
  uint64_t bits_ = 0;
  std::optional<Look> look_;
};

// Returns whether a value is made of places alone: numbers of programs, ranges, integer arguments, constants.
bool is_place(const ir::Value& v, std::set<const ir::Value*>& seen) {
  if (!seen.insert(&v).second) return true;
  const ir::Op* op = v.defining_op;
  if (!op) {
    const ir::Op* around = v.block->region->parent;
    if (around->kind == ir::OpKind::kFunc) return true;
    if (around->kind != ir::OpKind::kFor || v.index == 0) return around->kind == ir::OpKind::kFor;
    const ir::Op* end = v.block->last;
    return is_place(*around->operand(v.index + 2), seen) && is_place(*end->operand(v.index - 1), seen);
  }
  if (!op->effects().any(kElementwise | kMoves | kGenerates)) return false;
  for (uint32_t i = 0; i < op->num_operands(); ++i)
    if (!is_place(*op->operand(i), seen)) return false;
  return true;
}

}  // namespace

OverflowCheck::OverflowCheck(const CheckedCode& code) : code_(code) {
  for (const Instr& in : code.code.instrs) known_.push_back(known_of(in));
}

OverflowCheck::Known OverflowCheck::known_of(const Instr& in) {
  Known known{family_of(in), nullptr, false, false, 0, {}};
  const Code& code = code_.code;
  known.sinks = sinks_of(in, known.family, code);
  if (!in.op || in.run == run_release) return known;
  std::erase_if(known.sinks, [&](const Sink& s) {
    if (!is_number(*code.types[s.slot])) return true;
    std::set<const ir::Value*> seen;
    const ir::Value* value = in.op->operand_of("value");
    return s.is_value && !(in.op->does(kStores) && value && is_place(*value, seen));
  });
  // A tensor's descriptor (a value or a map in memory) is made of its sizes and strides.
  const bool describes = in.num_results == 0 || (in.num_results == 1 && code.types[in.result()]->size == 0);
  if (describes && !in.op->effects().any(kBlock | kViews))
    for (const Slot o : in.operands())
      if (is_number(*code.types[o]) && in.op->does(kComputes))
        known.sinks.push_back({o, kNoSlot, "the descriptor"});
  const machine::ExactFn applied = in.op->does(kApplies) ? applied_rule(*in.op) : nullptr;
  const machine::ExactFn rule = applied ? applied : row_of(in.op->kind).exact;
  const bool is_whole = in.num_results == 1 && in.op->results.size() == 1 &&
                        code.types[in.result()]->ir == in.op->results[0].type &&
                        in.num_operands == in.op->num_operands();
  if (adds_to_pointers(in) &&
      !meant_.at(location_of(*in.op, *code.module)))  // of an access that adds its offsets, too
    return known.rule = machine::exact_offset, known;
  if (!rule || !is_whole) return known;
  if (!std::ranges::all_of(in.operands(), [&](Slot o) { return is_number(*code.types[o]); })) return known;
  for (uint32_t i = 0; rule == &machine::exact_mul && i < in.num_operands; ++i)
    if (const auto constant = constant_integer(*in.op->operand(i));
        constant && machine::is_hash_factor(*constant))
      return known;
  if (meant_.at(location_of(*in.op, *code.module))) return known;
  known.rule = rule;
  known.folds = applied != nullptr;
  known.makes = machine::makes(rule);
  if (rule == &machine::exact_compare)
    known.predicate = static_cast<int>(in.op->enum_attr<ir::CmpI>("predicate"));
  return known;
}

// The rule of a reduction or scan of one tensor by one op with a rule.
machine::ExactFn OverflowCheck::applied_rule(const ir::Op& op) {
  const ir::Block* block = op.num_operands() == 1 && op.region(0) ? op.region(0)->first : nullptr;
  const ir::Op* combine = block ? block->first : nullptr;
  if (!combine || combine->next != block->last || combine->num_operands() != 2) return nullptr;
  for (uint32_t i = 0; i < 2; ++i)
    if (combine->operand(i)->defining_op) return nullptr;
  const machine::ExactFn rule = row_of(combine->kind).exact;
  return machine::combines(rule) ? rule : nullptr;
}

Shadows& OverflowCheck::of(const Task& t) const {
  return *static_cast<ProgramChecks&>(*t.program->checks).missing;
}

void OverflowCheck::begin(Program& program) {
  auto& own = static_cast<ProgramChecks&>(*program.checks);
  if (!own.missing) own.missing = std::make_unique<Shadows>(code_.code, *program.worker->pool);
  own.missing->begin(program, std::byte{0});
}

bool OverflowCheck::before(Task& t, const Instr& in) {
  const Code& code = code_.code;
  if (&in == code.entry)  // what is the same in all programs was computed before them
    for (const Instr* once = code.instrs.data(); once < code.entry; ++once)
      if (once->op && once->run != run_release) after(t, *once);
  for (const Sink& s : known_[&in - code.instrs.data()].sinks)
    if (const int64_t element = of(t).first_on(t, s.slot, s.mask); element >= 0)
      return report(t, in, s, element);
  return true;
}

void OverflowCheck::after(Task& t, const Instr& in) {
  Shadows& p = of(t);
  const Known& known = known_[&in - code_.code.instrs.data()];
  if (known.folds) return fold(t, in, known);
  if (known.rule) return compute(t, in, known);
  if (through_shared(t, in, known.family)) return;
  uint32_t from = 0;
  bool dirty = false;
  for (const Slot o : std::views::reverse(in.operands()))
    if (!p.clean(o)) dirty = true, from = p.origin[o];
  const int index = dirty && in.op ? Lowering::operand_index(*in.op, "indices") : -1;
  const bool picks = index >= 0 && in.op->does(kComputes);
  if (picks) p.run(t, in, {in.operand(static_cast<uint32_t>(index))});
  const bool moved = picks || (dirty && p.move(t, in, known.family));
  if (!moved) return p.set_clean(in.results());
  for (const Slot s : in.results())
    if (picks || known.family == Family::kMoves) p.origin[s] = from, p.recognise_clean(t, s);
}

void OverflowCheck::compute(Task& t, const Instr& in, const Known& known) {
  Shadows& p = of(t);
  const Slot result = in.result();
  const TileType& type = t.type(result);
  // An affine value is in the range of its type.
  if (p.clean(in.operands()) && (!known.makes || t.value(result).form == Form::kAffine))
    return p.set_clean(result);
  std::deque<Integers> operands;
  for (const Slot o : in.operands()) operands.emplace_back(t, p, o);
  const Integers out(t, p, result);
  std::array<Integer, 3> of_element;
  const std::span<const Integer> all(of_element.data(), in.num_operands);
  const int64_t n = t.is_uniform(result) ? 1 : type.n;
  std::vector<int64_t> wraps;
  uint32_t origin = 0;
  for (int64_t e = 0; e < n; ++e) {
    for (uint32_t i = 0; i < in.num_operands; ++i) of_element[i] = operands[i].at(e);
    Integer r = out.at(e);
    r.wraps = 0;
    r.wraps = known.rule({all, r, known.predicate});
    if (r.wraps == 0) continue;
    if (wraps.empty()) {
      wraps.resize(static_cast<size_t>(n));
      origin = origin_of(t, in, e, all, [&] {
        std::string what;
        for (uint32_t i = 0; i < in.num_operands; ++i) what += (i ? " and " : "") + operand_text(t, in, i, e);
        return what + " give " + machine::overflow_text(r);
      });
    }
    wraps[e] = r.wraps == Integer::kLost ? least_of(type.element) : r.wraps;
  }
  mark(t, in, wraps, origin);
}

// A reduction or a scan: the rule of what it applies, from element to element along the axis.
void OverflowCheck::fold(Task& t, const Instr& in, const Known& known) {
  Shadows& p = of(t);
  const Slot from = in.operand(0);
  const TileType& type = t.type(in.result());
  if (p.clean(from) && !known.makes) return p.set_clean(in.result());
  const Integers operand(t, p, from);
  const Axis axis = axis_of(t.type(from), in.op->int_attr("axis", 0));
  const bool reverse = in.op->int_attr("reverse", 0) != 0, keeps_all = type.n == t.type(from).n;
  std::vector<int64_t> wraps;
  uint32_t origin = 0;
  for (int64_t column = 0; column < axis.outer * axis.inner; ++column) {
    Integer sum;
    for (int64_t step = 0; step < axis.length; ++step) {
      const int64_t k = reverse ? axis.length - 1 - step : step;
      const int64_t at = (column / axis.inner * axis.length + k) * axis.inner + column % axis.inner;
      const Integer next = operand.at(at);
      sum = step ? machine::combined(known.rule, sum, next) : next;
      if (sum.wraps == 0 || (!keeps_all && step < axis.length - 1)) continue;
      const int64_t element = keeps_all ? at : column;
      if (wraps.empty()) {
        wraps.resize(static_cast<size_t>(type.n));
        const Integer whole{0, next.width, p.clean(from) ? 0 : Integer::kLost};
        origin = origin_of(t, in, element, {&whole, 1}, [&] {
          return std::to_string(step + 1) + " elements give " + machine::overflow_text(sum);
        });
      }
      wraps[element] = sum.wraps == Integer::kLost ? least_of(type.element) : sum.wraps;
    }
  }
  mark(t, in, wraps, origin);
}

void OverflowCheck::mark(Task& t, const Instr& in, const std::vector<int64_t>& wraps, uint32_t origin) {
  Shadows& p = of(t);
  const Slot result = in.result();
  const TileType& type = t.type(result);
  if (wraps.empty()) return p.set_clean(result);
  if (wraps.size() == 1) return p.set_all(result, origin, wraps[0]);
  std::byte* to = p.new_lanes(t, result, origin);
  for (size_t e = 0; e < wraps.size(); ++e)
    num::store_bits(to + e * static_cast<size_t>(type.size), type.element, static_cast<uint64_t>(wraps[e]));
}

// Integers that lie in shared memory keep what is missing from them. What other ops store there lacks nothing.
bool OverflowCheck::through_shared(Task& t, const Instr& in, Family family) {
  Shadows& p = of(t);
  if (family == Family::kSharedMoves) {
    if (p.stored == 0 && p.clean(in.operands())) return false;
    p.shared_moves(t, in);
    for (const Slot s : in.results()) {
      p.origin[s] = p.stored;
      if (t.type(s).size == 0 || !is_number(t.type(s)))
        p.set_clean(s);
      else
        p.recognise_clean(t, s);
    }
    return true;
  }
  if (p.stored && in.op) p.clear_buffers(t, in, code_.buffers[&in - code_.code.instrs.data()]);
  return false;
}

uint32_t OverflowCheck::origin_of(Task& t, const Instr& in, int64_t element,
                                  std::span<const Integer> operands,
                                  const std::function<std::string()>& what) {
  Shadows& p = of(t);
  const auto wrong = std::ranges::find_if(operands, [](const Integer& a) { return a.wraps != 0; });
  const TileType& type = t.type(in.result());
  if (p.origins.size() >= kOrigins) return static_cast<uint32_t>(kOrigins);
  const bool is_new = wrong == operands.end();
  const uint32_t from = is_new ? 0 : p.origin[in.operand(static_cast<uint32_t>(wrong - operands.begin()))];
  return p.new_origin(t, in, type.index_of(element), is_new ? what() : "", from);
}

bool OverflowCheck::report(Task& t, const Instr& in, const Sink& sink, int64_t element) {
  Shadows& p = of(t);
  std::vector<std::string> notes, path;
  for (uint32_t at = p.origin[sink.slot]; at; at = p.origins[at - 1].from) {
    const Origin& o = p.origins[at - 1];
    if (o.from)
      path.push_back(place_text(*o.in->op, code_.code));
    else
      notes.push_back("it overflowed in " + o.text(code_.code) + ": " + o.what);
  }
  std::ranges::reverse(path);
  std::string by;
  path.erase(std::ranges::unique(path).begin(), path.end());
  for (const std::string& place : path) by += (by.empty() ? "" : ", ") + place;
  if (!by.empty()) notes.push_back("it came here through " + by);
  return trap_with_notes(t, in, exec::TrapKind::kOverflow,
                         std::string(sink.what) + " depends on an integer that overflowed",
                         t.type(sink.slot).index_of(element), std::move(notes));
}

}  // namespace triton_runner::tile
