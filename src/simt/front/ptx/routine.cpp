// Lowers functions that are not inlined: those that call themselves, by way of others too, and those that would make the
// code too large. Such a routine has its code once, in front of the entry's, and registers of its own; its frames are on a
// stack in the thread's local memory (ops/stack.h).
//
//   call (r), fib, (n);     enter_routine    saves the caller's registers if fib may call it, passes n, moves the frame up
//                           branch           to the first instruction of fib
//                           leave_routine    puts registers back, takes r
//
// The place that a routine returns to is a number in a register of its own (Routine::link), by which its last instruction jumps.
#include <triton_runner/ptx/contract.h>
#include <triton_runner/ptx/flow.h>
#include <triton_runner/ptx/liveness.h>

#include "front/ptx/frame.h"
#include "front/ptx/lower.h"
#include "ops/move.h"

namespace triton_runner::simt {
namespace {

constexpr uint64_t kInlinedInstructions = 1u
                                          << 17;  // with more than these, what is called twice is a routine
constexpr uint32_t kFrameAlign = 16;

uint32_t rounded(uint32_t bytes) { return (bytes + kFrameAlign - 1) / kFrameAlign * kFrameAlign; }

bool is_call(const ptx::Instruction& in) { return in.opcode == ptx::Opcode::kCall; }

void add_functions(const ptx::Operand& o, std::set<const ptx::Function*>& out) {
  if (o.kind == ptx::OperandKind::kFunction) out.insert(o.function);
  for (const ptx::Operand& part : o.parts) add_functions(part, out);
}

// The functions whose address an instruction or a variable of the module takes.
std::set<const ptx::Function*> addressed_functions(const ptx::Module& module) {
  std::set<const ptx::Function*> out;
  const auto look = [&](const ptx::Variable& v) {
    for (const auto& r : v.relocations)
      if (const ptx::Function* f = module.find_function(r.symbol)) out.insert(f);
  };
  for (const ptx::Variable& v : module.variables()) look(v);
  for (const ptx::Function* f : module.functions()) {
    for (const ptx::Variable& v : f->variables) look(v);
    for (const ptx::Instruction& in : f->body) {
      const ptx::Operand* target = is_call(in) ? CallParts(in).target : nullptr;
      for (const ptx::Operand& o : in.operands)
        if (&o != target) add_functions(o, out);
    }
  }
  return out;
}

}  // namespace

std::vector<const ptx::Function*> Lowering::callees_of(const ptx::Function& caller,
                                                       const ptx::Instruction& in) const {
  const CallParts call(in);
  if (!call.target) return {};
  if (call.target->kind == ptx::OperandKind::kFunction) return {call.target->function};
  if (!in.callees.empty()) return {in.callees.begin(), in.callees.end()};
  const auto same = [&](std::span<const ptx::Variable> formal, std::span<const ptx::Operand> actual,
                        bool results) {
    return std::equal(
        formal.begin(), formal.end(), actual.begin(), actual.end(),
        [&](const ptx::Variable& f, const ptx::Operand& a) { return fits(caller, f, a, results); });
  };
  std::vector<const ptx::Function*> out;
  for (const ptx::Function* f : module.functions())
    if (addressed_.contains(f) && !f->is_entry && !f->is_declaration && same(f->params, call.args, false) &&
        same(f->returns, call.returns, true))
      out.push_back(f);
  return out;
}

// Finds which functions are routines, callees before their callers.
void Lowering::find_routines() {
  addressed_ = addressed_functions(module);
  std::vector<const ptx::Function*> order;  // that the entry reaches, callees first
  std::unordered_map<const ptx::Function*, std::vector<const ptx::Function*>> callees;
  std::unordered_map<const ptx::Function*, size_t> sites;
  struct Visit {
    const ptx::Function* function;
    size_t next;
  };
  std::vector<Visit> visits{{&entry, 0}};
  const auto begin = [&](const ptx::Function* f) {
    std::vector<const ptx::Function*>& all = callees[f];
    for (const ptx::Instruction& in : f->body) {
      if (!is_call(in)) continue;
      for (const ptx::Function* to : callees_of(*f, in)) all.push_back(to), ++sites[to];
    }
  };
  begin(&entry);
  while (!visits.empty()) {
    Visit& at = visits.back();
    const std::vector<const ptx::Function*>& all = callees[at.function];
    if (at.next == all.size()) {
      order.push_back(at.function);
      visits.pop_back();
      continue;
    }
    const ptx::Function* to = all[at.next++];
    if (callees.contains(to)) continue;
    begin(to);
    visits.push_back({to, 0});
  }
  for (const ptx::Function* from : order) {
    std::set<const ptx::Function*>& all = reached_[from];
    for (std::vector<const ptx::Function*> next{from}; !next.empty();) {
      const ptx::Function* f = next.back();
      next.pop_back();
      for (const ptx::Function* to : callees[f])
        if (all.insert(to).second) next.push_back(to);
    }
  }
  std::unordered_map<const ptx::Function*, uint64_t>
      sizes;  // with all callees but those that call themselves inlined
  for (const ptx::Function* f : order) {
    uint64_t size = f->body.size();
    for (const ptx::Function* to : callees[f])
      if (!reached_[to].contains(to)) size += sizes[to];
    sizes[f] = std::min(size, uint64_t{1} << 40);
  }
  const bool is_large = sizes[&entry] > kInlinedInstructions;
  for (const ptx::Function* f : order) {
    if (f == &entry || f->is_declaration || (!reached_[f].contains(f) && !(is_large && sites[f] > 1)))
      continue;
    auto& routine = routines_.emplace_back(std::make_unique<Routine>());
    routine->function = f;
    routine_of_[f] = routine.get();
  }
}

bool Lowering::lower_routines() {
  find_routines();
  if (routines_.empty()) return true;
  frame_place_ = temporary(8);
  emit(copy_register(8)).d = frame_place_;
  code.instrs.back().a = constant(0, 8);
  const auto to_entry = static_cast<uint32_t>(code.instrs.size());
  emit(branch);
  const std::shared_ptr<Activation> of_entry = activation_;
  for (auto& routine : routines_) {
    routine->link = temporary(4);
    activation_ = routine->activation;
    for (const auto formals : {routine->function->returns, routine->function->params})
      for (const ptx::Variable& formal : formals) {
        if (formal.space == ptx::Space::kReg)
          routine->passed.push_back(temporary(bytes_of(formal.type)));
        else if (!reserve_local(formal, &routine->formals[&formal]))
          return false;
      }
  }
  bool ok = true;
  for (auto& routine : routines_) ok = lower_routine(*routine) && ok;
  activation_ = of_entry;
  jump_to_here(to_entry);
  return ok;
}

bool Lowering::lower_routine(Routine& routine) {
  const ptx::Function& f = *routine.function;
  activation_ = routine.activation;
  routine.start = static_cast<uint32_t>(code.instrs.size());
  std::vector<Place> places;
  given = &places;
  Frame frame;
  frame.locals = routine.formals;
  const ptx::FormalRegisters formals = ptx::formal_registers(f);
  const auto copy = [&](uint32_t r, bool in) {
    const uint32_t bytes = bytes_of(f.registers[r].type);
    Instr& i = emit_look(copy_register(bytes));
    i.d = in ? frame.places[r] : routine.passed[r];
    i.a = in ? routine.passed[r] : frame.places[r];
  };
  for (uint32_t r = 0; r < formals.params_end; ++r) {
    frame.places.push_back(temporary(bytes_of(f.registers[r].type)));
    if (r >= formals.returns_end) copy(r, true);
  }
  const size_t first_end = ends_.size();
  const bool ok = lower_function(f, frame);
  given = nullptr;
  for (size_t i = first_end; i < ends_.size(); ++i) {
    ends_[i].target = static_cast<uint32_t>(code.instrs.size());
    ends_[i].resolved = true;
  }
  fixups_.insert(fixups_.end(), ends_.begin() + static_cast<ptrdiff_t>(first_end), ends_.end());
  ends_.resize(first_end);
  for (uint32_t r = 0; r < formals.returns_end; ++r) copy(r, false);
  code.kept.push_back(routine.returns);
  emit<branch_table>({.a = routine.link, .small = 4, .data = routine.returns.get()});
  places.push_back({routine.link, 4});
  // Declared registers are saved where a call back may need them, and what the lowering added always.
  std::vector<bool> calls(f.body.size()), needed(f.registers.size());
  for (size_t i = 0; i < calls.size(); ++i)
    if (is_call(f.body[i]))
      for (const ptx::Function* to : callees_of(f, f.body[i]))
        calls[i] = calls[i] || reached_[to].contains(&f);
  needed = ptx::live_across(f, calls);
  for (uint32_t r = 0; r < formals.returns_end; ++r) needed[r] = true;
  for (const ptx::Contraction& c : ptx::contractions(f))  // its factors are read where the sum is
    for (const uint32_t r : ptx::sources_of(f.body[c.product])) needed[r] = true;
  std::set<uint32_t> passed_over;
  for (size_t r = 0; r < needed.size(); ++r)
    if (!needed[r]) passed_over.insert(frame.places[r]);
  for (const Constant& c : code.constants) passed_over.insert(c.offset);
  std::erase_if(places, [&](const Place& p) { return passed_over.contains(p.at); });
  save_registers(routine, places);
  return ok;
}

void Lowering::save_registers(const Routine& routine, std::span<const Place> places) {
  Activation& to = *routine.activation;
  if (reached_[routine.function].contains(routine.function))
    for (const Place& p : places) {
      to.bytes = (to.bytes + p.bytes - 1) / p.bytes * p.bytes;
      to.saved.push_back({p.at, p.bytes, to.bytes});
      to.bytes += p.bytes;
    }
  to.bytes = rounded(to.bytes);
}

void Lowering::call_routine(Routine& routine, std::span<const ptx::Operand> returns,
                            std::span<const ptx::Operand> args) {
  const ptx::Function& f = *routine.function;
  StackCall call{.caller = activation_.get(),
                 .callee = routine.activation.get(),
                 .name = std::string(f.name),
                 .frame = frame_place_,
                 .link = routine.link,
                 .number = static_cast<uint32_t>(routine.sites.size()),
                 .saves = routine_of_.contains(frame_->function) && reached_[&f].contains(frame_->function),
                 .arguments = {},
                 .results = {}};
  code.kept.push_back(activation_);
  code.kept.push_back(routine.activation);
  size_t next = 0;  // of Routine::passed
  const auto pass = [&](std::span<const ptx::Variable> formals, std::span<const ptx::Operand> actuals,
                        std::vector<PassedValue>* out) {
    for (size_t i = 0; i < formals.size(); ++i) {
      const ptx::Variable& formal = formals[i];
      PassedValue v{};
      v.bytes = static_cast<uint32_t>(formal.bytes);
      const bool in_register = formal.space == ptx::Space::kReg;
      if (in_register) v.bytes = bytes_of(formal.type);
      v.callee = {!in_register, in_register ? routine.passed[next++] : routine.formals[&formal]};
      if (actuals[i].kind == ptx::OperandKind::kSink) continue;
      if (actuals[i].kind == ptx::OperandKind::kVariable)
        v.caller = {true, local_offset(*actuals[i].variable)};
      else
        v.caller = {false, place(actuals[i], formal.type)};
      out->push_back(v);
    }
  };
  pass(f.returns, returns, &call.results);
  pass(f.params, args, &call.arguments);
  const StackCall* plan = code.keep(std::move(call));
  emit<enter_routine>({.data = plan});
  const auto jump = static_cast<uint32_t>(code.instrs.size());
  emit(branch).guard = kNoRegister;
  routine.sites.push_back({jump, jump + 1});
  emit<leave_routine>({.data = plan});
  code.instrs[jump - 1].guard = code.instrs[jump + 1].guard = kNoRegister;
}

// When all code is there: jumps to routines, and where these return to.
void Lowering::link_routines() {
  if (routines_.empty()) return;
  code.local_bytes = rounded(code.local_bytes);
  activation_->bytes = code.local_bytes;
  code.local_bytes += kStackBytes;
  for (const auto& routine : routines_)
    for (const Routine::Site& site : routine->sites) {
      code.instrs[site.jump].data = &code.instrs[routine->start];
      routine->returns->targets.push_back(&code.instrs[site.back]);
    }
}

// All frames of the entry and of what is inlined in it are at 0, so that their addresses are constants.
uint32_t Lowering::frame_place() const {
  for (const auto& routine : routines_)
    if (routine->activation == activation_) return frame_place_;
  return kNoRegister;
}

}  // namespace triton_runner::simt
