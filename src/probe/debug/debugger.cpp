// Implements Debugger: sees each place that a launch comes to, counts, and decides whether it stops there.
// Going back is in debugger_again.cpp, iterations of loops in debugger_loops.cpp, watchpoints in
// debugger_watch.cpp.
#include <triton_runner/probe/debugger.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <triton_runner/ir/text.h>
#include <triton_runner/num/reduce.h>
#include <triton_runner/num/types.h>
#include <triton_runner/probe/select.h>

#include "assignments.h"
#include "elements.h"
#include "names.h"

namespace triton_runner::probe {
namespace {

double number_of(const std::byte* element, num::Type type) {
  const uint64_t bits = num::load_bits(element, type);
  if (num::is_float(type)) return num::to_double(bits, type);
  if (type == num::Type::kI1) return bits & 1;
  return type == num::Type::kPointer ? static_cast<double>(bits)
                                     : static_cast<double>(num::sign_extend(bits, type));
}

bool compares(double a, Condition::Compare how, double b) {
  switch (how) {
    case Condition::kLess:
      return a < b;
    case Condition::kLessEqual:
      return a <= b;
    case Condition::kGreater:
      return a > b;
    case Condition::kGreaterEqual:
      return a >= b;
    case Condition::kEqual:
      return a == b;
    case Condition::kUnequal:
      return a != b;
  }
  return false;
}

// The largest (sign 1) or smallest (-1) element; NaN where there is one, as NumPy has it.
template <class Get>
double extreme(int64_t n, const exec::Elements& e, double sign, Get get) {
  double best = -INFINITY;
  bool nan = false;
  for (int64_t i = 0; i < n; ++i) {
    if (!e.mask.empty() && !e.mask[static_cast<size_t>(i)]) continue;
    const double x = sign * get(i);
    nan |= x != x;
    best = x > best ? x : best;
  }
  return nan ? NAN : sign * best;
}

template <class Get>
double reduced(const Condition& c, const exec::Elements& e, Get get) {
  const int64_t n = count_of(e);
  if (c.of == Condition::kMax || c.of == Condition::kMin)
    return extreme(n, e, c.of == Condition::kMax ? 1 : -1, get);
  int64_t there = 0, on = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!e.mask.empty() && !e.mask[static_cast<size_t>(i)]) continue;
    const double x = get(i);
    ++there;
    on += c.of == Condition::kNan ? std::isnan(x) : c.of == Condition::kInf ? std::isinf(x) : x != 0;
  }
  return c.of == Condition::kAll ? on == there : on > 0;
}

// The engine's own reductions answer this of floats: largest and smallest, and whether one is NaN, infinite or not 0.
std::optional<double> quickly(const Condition& c, const exec::Elements& e) {
  using num::ReduceOp;
  const int64_t n = count_of(e);
  if (c.of == Condition::kAll || !e.mask.empty() || !num::is_float(e.type) || n == 0) return std::nullopt;
  bool is_there = true;
  auto reduced = [&](ReduceOp op) {
    const num::ReduceFn reduce = num::reduce_fn(op, e.type);
    std::byte out[8];
    if (reduce)
      reduce(out, e.data, 1, n, 1);
    else
      is_there = false;
    return reduce ? number_of(out, e.type) : 0;
  };
  double value = reduced(c.of == Condition::kMin ? ReduceOp::kMinimum : ReduceOp::kMaximum);
  if (c.of == Condition::kNan) value = std::isnan(value);
  // A NaN is not 0, and hides what is infinite.
  if (c.of == Condition::kAny) value = value != 0 || reduced(ReduceOp::kMinimum) != 0;
  if (c.of == Condition::kInf)
    value = std::isinf(reduced(ReduceOp::kMaxNum)) || std::isinf(reduced(ReduceOp::kMinNum));
  return is_there ? std::optional(value) : std::nullopt;
}

bool is_in(const Program& program, const Program& wanted) {
  for (size_t d = 0; d < 3; ++d)
    if (wanted[d] >= 0 && wanted[d] != program[d]) return false;
  return true;
}

}  // namespace

std::optional<bool> holds(const Condition& c, const exec::Elements& e) {
  const size_t size = num::size_of(e.type);
  if (c.of == Condition::kElement && c.index.empty()) {  // of several elements any
    for (int64_t i = 0; i < count_of(e); ++i)
      if ((e.mask.empty() || e.mask[static_cast<size_t>(i)]) &&
          compares(number_of(e.data + static_cast<size_t>(i) * size, e.type), c.compare, c.number))
        return true;
    return false;
  }
  if (c.of == Condition::kElement) {
    const auto at = place_in(c.index, e.shape);
    if (!at) return std::nullopt;
    return compares(number_of(e.data + static_cast<size_t>(*at) * size, e.type), c.compare, c.number);
  }
  double value;
  if (std::optional<double> quick = quickly(c, e)) {
    value = *quick;
  } else if (e.type == num::Type::kF32) {
    value = reduced(c, e, [&](int64_t i) {
      float x;
      std::memcpy(&x, e.data + i * 4, 4);
      return static_cast<double>(x);
    });
  } else {
    value =
        reduced(c, e, [&](int64_t i) { return number_of(e.data + static_cast<size_t>(i) * size, e.type); });
  }
  return compares(value, c.compare, c.number);
}

base::Status Debugger::begin(std::shared_ptr<const ir::Module> module, const std::string& kernel,
                             const std::string& level) {
  const ir::Op* func = module ? module->find_function(kernel) : nullptr;
  if (module && !func) return base::failure("there is no kernel '" + kernel + "' in this module");
  module_ = std::move(module);
  places_.clear();
  numbers_.clear();
  variables_.clear();
  found_.clear();
  moment_ = began_ = starts_.back().moment;
  unsure_ = -1;
  is_ready_ = sparse_ = false;
  is_ttir_ = level == "ttir";
  statements_.clear();
  if (func)
    for_each_value(*module_, *func, [&](const ir::Op& op, const ir::Value& v) {
      if (!v.defining_op) return;
      if (const std::string name = variable_of(&v); !name.empty())
        statements_[{op.block, name, statement_line(v)}] = &v;
    });
  std::vector<const ir::Op*> functions;
  if (func) functions.push_back(func);
  for (size_t i = 0; i < functions.size(); ++i) {
    const std::string name(functions[i]->attr("sym_name")->string);
    std::vector<const ir::Op*> calls;
    for (const ir::Region* r : functions[i]->regions) add_places(*r, name, calls);
    for (const ir::Op* call : calls) {
      const ir::Attr* callee = call->attr("callee");
      const ir::Op* called = callee ? module_->find_function(callee->string) : nullptr;
      if (called && std::find(functions.begin(), functions.end(), called) == functions.end())
        functions.push_back(called);
    }
  }
  return base::success();
}

bool Debugger::ready(const std::string& kernel, const std::string& level) {
  set_lines({});
  set_loops({});
  set_breakpoints({});
  thawed_ = false;
  visits_.clear();
  next_edit_ = 0;
  visits_seen_ = 0;
  token_.reset();
  is_ready_ = front_.begin(kernel, level);
  return is_ready_;
}

// Variables and values that conditions name.
bool Debugger::keeps(const void* value) const {
  for (const Kept& kept : breakpoints_)
    for (const Condition& c : kept.breakpoint.conditions)
      if (c.value.starts_with('%') ? name_of(value) == c.value : variable_of(value) == c.value) return true;
  return std::any_of(places_.begin(), places_.end(),
                     [&](const DebugPlace& place) { return place.marker && place.marker == value; });
}

void Debugger::interrupt() {
  interrupted_ = true;
  if (sparse_) token_.request_stop();
}

void Debugger::go_to_visit(uint32_t place, const Program& program, size_t task, int64_t visit) {
  until_ = Until::kVisit;
  place_wanted_ = place;
  visit_wanted_ = visit;
  from_program_ = program;
  from_task_ = task;
}

uint32_t Debugger::add_place(const exec::InstructionSite& site) {
  auto [it, is_new] = numbers_.try_emplace(site.at, static_cast<uint32_t>(places_.size()));
  if (is_new) {
    DebugPlace& place = places_.emplace_back();
    place.name = site.name;
    place.text = site.text;
    place.at = site.line;
    place.function = site.function;
    place.lines = site.lines;
  }
  return sparse_ && is_ready_ && !is_armed(it->second) ? kNowhere : it->second;
}

void Debugger::add_places(const ir::Region& region, const std::string& function,
                          std::vector<const ir::Op*>& calls) {
  for (const ir::Block* b = region.first; b; b = b->next) {
    const uint32_t block_number = blocks_++;
    for (const ir::Op* op = b->first; op; op = op->next) {
      if (op->kind == ir::OpKind::kCall) calls.push_back(op);
      // Constants are there from the begin.
      const bool constant = op->does(ir::Effect::kGenerates) && op->num_operands() == 0 && op->attr("value");
      if (!constant) {
        numbers_[op] = static_cast<uint32_t>(places_.size());
        DebugPlace& place = places_.emplace_back();
        place.name = op->name;
        place.text = ir::text_of(*module_, *op);
        place.text.resize(std::min(place.text.find('\n'), place.text.size()));
        place.at = ir::line_of(*module_, *op);
        place.function = function;
        place.block = block_number;
        const ir::Attr* prefix = op->attr("prefix");
        if (prefix && prefix->string.starts_with(exec::kBreakpoint) && op->num_operands() > 0)
          place.marker = op->operand(0);
        for_each_line(op->loc, [&](const ir::Location& l) {
          place.lines.push_back({std::string(l.file), l.line, l.column});
        });
      }
      if (!op->results.empty() && is_combiner(*op)) continue;
      for (const ir::Region* inner : op->regions) add_places(*inner, function, calls);
    }
  }
}

void Debugger::set_breakpoints(std::vector<Breakpoint> breakpoints) {
  std::vector<Kept> kept;
  for (Breakpoint& b : breakpoints) {
    const auto before = std::find_if(breakpoints_.begin(), breakpoints_.end(),
                                     [&](const Kept& k) { return k.breakpoint.number == b.number; });
    if (before != breakpoints_.end()) {
      kept.push_back(std::move(*before));
      kept.back().breakpoint = std::move(b);
    } else {
      const int64_t hits = b.hits;
      kept.push_back({std::move(b), hits, {}});
    }
  }
  breakpoints_ = std::move(kept);
  armed_.assign(places_.size(), {});
  everywhere_.clear();
  for (uint32_t i = 0; i < breakpoints_.size(); ++i) {
    const std::vector<uint32_t>& places = breakpoints_[i].breakpoint.places;
    if (places.empty()) everywhere_.push_back(i);
    for (uint32_t place : places)
      if (place < armed_.size()) armed_[place].push_back(i);
  }
}

int64_t Debugger::hits(int number) const {
  for (const Kept& k : breakpoints_)
    if (k.breakpoint.number == number) return k.hits;
  return 0;
}

// The next step or run begins at this stop.
void Debugger::stand() {
  if (!stopped_) return;
  from_ = here_;
  from_program_ = stopped_->program();
  from_task_ = stopped_->task();
  from_iterations_ = iterations();
}

void Debugger::go() {
  stand();
  until_ = Until::kNothing;
}

void Debugger::step(Until until, int most_depth, int line) {
  stand();
  from_line_ = line;
  until_ = until;
  most_depth_ = most_depth;
  if (from_line_ < 0 && stopped_) from_line_ = line_at(here_, *stopped_);
}

// The line that is most_depth_ deep in calls, or the innermost; -1: it is deeper in called functions, or not known.
int Debugger::line_at(uint32_t place, const exec::Stopped& stopped) const {
  int depth = most_depth_;
  for (const void* call : stopped.calls())
    if (auto at = numbers_.find(call); at != numbers_.end())
      depth -= static_cast<int>(lines_[at->second].size());
  const std::vector<int>& lines = lines_[place];
  if (depth <= 0 || lines.empty()) return -1;
  return lines[std::min(static_cast<size_t>(depth), lines.size()) - 1];
}

std::string Debugger::variable_of(const void* value) const {
  auto [it, is_new] = variables_.try_emplace(value);
  if (is_new && module_) it->second = site_of(value).variable;
  return it->second;
}

// The name that a loop counts by, of the line that it is on.
std::string Debugger::loop_name(const ir::Value& value) const {
  const ir::Op* loop = value.defining_op ? nullptr : op_of(value);
  if (!loop || loop->kind != ir::OpKind::kFor || value.index != 0) return {};
  std::string name;
  for_each_line(loop->loc, [&](const ir::Location& l) {
    for (const auto& [file, line, counted] : loop_names_)
      if (line == l.line && file == l.file) name = counted;
  });
  return name;
}

Site Debugger::site_of(const void* value) const {
  if (module_) {
    const auto& of = *static_cast<const ir::Value*>(value);
    Site site = site_with_variable(of);
    if (site.variable.empty()) site.variable = loop_name(of);
    return site;
  }
  Site site;
  site.value = static_cast<const char*>(value);
  return site;
}

std::string Debugger::name_of(const void* value) const {
  return module_ ? probe::name_of(*static_cast<const ir::Value*>(value))
                 : std::string(static_cast<const char*>(value));
}

std::optional<size_t> Debugger::find(exec::Stopped& stopped, const std::string& name) {
  const std::span<const void* const> values = stopped.values();
  auto [it, is_new] = found_.try_emplace({values.data(), name});
  if (!is_new) return it->second;
  auto nearest = [&](auto&& means) {
    for (size_t i = 0; i < values.size() && !it->second; ++i)
      if (means(values[i])) it->second = i;
  };
  if (name.starts_with('%') || !module_)  // registers: R5, v5
    nearest([&](const void* value) { return name_of(value) == name; });
  else
    nearest([&](const void* value) { return is_assigned(value, name); });
  // Below TTIR statements are taken apart, and a part of the next may stand among those of this one.
  if (!is_ttir_) nearest([&](const void* value) { return variable_of(value) == name; });
  return it->second;
}

// The last value of its block that a line has under the variable's name.
bool Debugger::is_assigned(const void* value, const std::string& name) const {
  if (variable_of(value) != name) return false;
  const auto& of = *static_cast<const ir::Value*>(value);
  if (!module_ || !of.defining_op) return true;
  const auto last = statements_.find({of.defining_op->block, name, statement_line(of)});
  return last == statements_.end() || last->second == value;
}

uint32_t Debugger::place_of(const void* op) {
  const auto at = numbers_.find(op);
  return at == numbers_.end() || (sparse_ && !is_armed(at->second)) ? kNowhere : at->second;
}

// Returns whether the condition of a dl.breakpoint holds: of any element.
bool Debugger::says_stop(const DebugPlace& place, exec::Stopped& stopped) const {
  const std::span<const void* const> values = stopped.values();
  const auto at = std::find(values.begin(), values.end(), place.marker);
  bool yes = false;
  if (at != values.end())
    stopped.look(static_cast<size_t>(at - values.begin()), [&](const exec::Elements& e) {
      yes = holds({"", Condition::kAny, {}, Condition::kUnequal, 0}, e).value_or(false);
    });
  return yes;
}

std::optional<size_t> Debugger::mask_of(exec::Stopped& stopped, size_t value) const {
  const std::span<const void* const> values = stopped.values();
  const auto& of = *static_cast<const ir::Value*>(values[value]);
  const ir::Op* op = module_ ? of.defining_op : nullptr;
  if (!op || !op->effects().any(ir::Effect::kLoads | ir::Effect::kAtomics)) return std::nullopt;
  const auto at = std::find(values.begin(), values.end(), op->operand_of("mask"));
  if (at == values.end()) return std::nullopt;
  return static_cast<size_t>(at - values.begin());
}

bool Debugger::is_hit(Kept& kept, uint32_t place, exec::Stopped& stopped) {
  const Breakpoint& b = kept.breakpoint;
  if (!is_in(stopped.program(), b.program)) return false;
  if (b.task >= 0 && !stopped.is_of(static_cast<size_t>(b.task))) return false;
  if (b.iteration >= 0) {
    const std::vector<int64_t> now = iterations(place, stopped);
    if (now.empty() || now.back() != b.iteration) return false;
  }
  if (!b.watch.empty() && !has_changed(kept, place, stopped)) return false;
  if (b.memory.space != WatchedMemory::kNone && !memory_has_changed(kept, stopped)) return false;
  for (const Condition& c : b.conditions) {
    bool yes = false;
    if (!look(c.value, place, stopped, [&](const exec::Elements& e) { yes = holds(c, e).value_or(false); }) ||
        !yes)
      return false;
  }
  return ++kept.hits > b.skip;
}

bool Debugger::is_in_focus(const exec::Stopped& stopped) const {
  return is_in(stopped.program(), focus_) &&
         (focus_task_ < 0 || stopped.is_of(static_cast<size_t>(focus_task_)));
}

bool Debugger::is_step_over(uint32_t place, const exec::Stopped& stopped) const {
  if (stopped.program() != from_program_) return place == 0 && moment_ > 1;  // the next program begins
  if (!stopped.is_of(from_task_)) return false;
  if (until_ == Until::kOp) return true;
  const int line = line_at(place, stopped);
  return line >= 0 && (line != from_line_ || iterations(place, stopped) != from_iterations_);
}

void Debugger::search(Until what, int most_depth, int64_t moment, bool further) {
  if (!further) stand();
  until_ = Until::kMoment;
  moment_wanted_ = moment;
  searched_ = what;
  most_depth_ = most_depth;
  noted_ = last_line_ = unsure_ = -1;
  searches_ = true;
}

// Returns whether an op or line begins here that is searched for.
bool Debugger::begins(uint32_t place, const exec::Stopped& stopped) {
  if (searched_ != Until::kLine) return searched_ == Until::kOp;
  const int line = line_at(place, stopped);
  if (line < 0) return false;
  std::vector<int64_t> now = iterations(place, stopped);
  const bool other = line != last_line_ || now != last_iterations_;
  last_line_ = line;
  last_iterations_ = std::move(now);
  return other;
}

bool Debugger::on_stop(uint32_t place, exec::Stopped& stopped) {
  const int64_t now = moment_++;
  Why why = Why::kBreakpoint;
  if (!sparse_ && ((now & 15) == 0 || keep_first_ == 0)) keep(stopped, now);
  count_rounds(place, stopped);
  if (interrupted_.load(std::memory_order_relaxed) && interrupted_.exchange(false)) why = Why::kInterrupt;
  for (; next_edit_ < edits_.size() && edits_[next_edit_].moment <= now; ++next_edit_)
    if (edits_[next_edit_].moment == now) edit(stopped, edits_[next_edit_]);
  std::vector<int> hits;
  const bool in_focus = is_in_focus(stopped);
  const bool returns = until_ == Until::kMoment || until_ == Until::kVisit;
  if (std::exchange(thawed_, false) && !returns) why = Why::kThawed;
  if (in_focus && (until_ == Until::kOp || until_ == Until::kLine) && is_step_over(place, stopped))
    why = Why::kStep;
  if (in_focus && places_[place].marker && says_stop(places_[place], stopped)) why = Why::kStatement;
  if (is_armed(place)) visit_ = ++visits_[{place, stopped.program(), stopped.task()}];
  if (until_ == Until::kVisit && place == place_wanted_ && stopped.program() == from_program_ &&
      stopped.task() == from_task_ && ++visits_seen_ == visit_wanted_)
    why = Why::kMoment;
  if (until_ == Until::kMoment && now >= moment_wanted_) why = Why::kMoment;
  if (in_focus && (!armed_[place].empty() || !everywhere_.empty()))
    for (const std::vector<uint32_t>* list : {&armed_[place], &everywhere_})
      for (uint32_t i : *list)
        if (is_hit(breakpoints_[i], place, stopped)) hits.push_back(breakpoints_[i].breakpoint.number);
  if (searches_ && now < moment_wanted_) {
    const bool here = stopped.program() == from_program_ && stopped.is_of(from_task_);
    if (here && (begins(place, stopped) || !hits.empty())) {
      // After a moment that was kept, the first place of the task may have begun before it.
      if (unsure_ < 0 && late())
        unsure_ = now;
      else
        noted_ = now;
    }
    return true;
  }
  if (why == Why::kBreakpoint && hits.empty()) return true;
  if (why == Why::kMoment) searches_ = false, until_ = Until::kNothing;
  here_ = place;
  stopped_ = &stopped;
  const bool goes_on = front_.stop(place, stopped, why, hits);
  stopped_ = nullptr;
  return goes_on;
}

}  // namespace triton_runner::probe
