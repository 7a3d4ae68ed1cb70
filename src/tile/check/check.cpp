// Runs the instructions of a launch under its checks: decides which checks it has, and words the texts that
// they share.
#include "check/check.h"

#include <cinttypes>
#include <cmath>
#include <unordered_map>

#include <triton_runner/exec/numbers.h>

#include "check/hints.h"
#include "check/nan.h"
#include "check/overflow.h"
#include "check/perturb.h"
#include "check/race.h"
#include "check/uninit.h"
#include "check/zero_division.h"
#include "lowering.h"
#include "machine/memdesc.h"
#include "ops/atomics.h"
#include "trace/location.h"
#include "trace/origin.h"

namespace triton_runner::tile {

void CheckedCode::prepare(Lowering& l) {
  std::unordered_map<const ir::Value*, MemoryOperand> memory;
  auto memory_of = [&](const ir::Value& v, const ir::Op& op) {
    MemoryOperand& m = memory[&v];
    if (!m.plan)
      if (const MemView* view = mem_view(l, v, op)) m = {0, l.make<MemPlan>(*view), view->element};
    return m;
  };
  kills.clear();
  buffers.assign(code.instrs.size(), {});
  filled.assign(code.instrs.size(), nullptr);
  for (size_t k = 0; k < code.instrs.size(); ++k) {
    Instr& in = code.instrs[k];
    kills.push_back(in.kills);
    in.kills = 0;
    if (!in.op || in.run == run_release) continue;
    commits |= in.op->effects().all(ir::Effect::kTensorCore | ir::Effect::kBarrier | ir::Effect::kSignals) &&
               !in.op->does(ir::Effect::kAsync);
    if (in.op->does(ir::Effect::kAllocates) && in.op->num_operands() == 1 && in.num_results == 1)
      filled[k] = memory_of(in.op->results[0], *in.op).plan;
    // The instruction of a copy from pointers begins with the buffer, wherever its op has that.
    const bool copy = async_access_of(in).kind != AccessKind::kNone;
    for (uint32_t i = 0; i < in.op->num_operands() && i < in.num_operands; ++i) {
      uint32_t at = i;
      while (copy && i == 0 && in.op->operand(at)->type->kind != ir::TypeKind::kMemDesc) ++at;
      const ir::Value& v = *in.op->operand(at);
      if (v.type->kind != ir::TypeKind::kMemDesc || code.types[in.operand(i)]->size != 0) continue;
      if (const MemoryOperand m = memory_of(v, *in.op); m.plan) buffers[k].push_back({i, m.plan, m.element});
    }
  }
}

const MemoryOperand* CheckedCode::buffer_of(const Instr& in, ir::GroupName group) const {
  const int i = Lowering::operand_index(*in.op, group);
  for (const MemoryOperand& b : buffers[&in - code.instrs.data()])
    if (static_cast<int>(b.operand) == i) return &b;
  return nullptr;
}

namespace {

// 1 + the number of the parameter by whose pointer each instruction accesses memory; 0: none, or nobody knows.
std::vector<uint32_t> owners_of(const Code& code) {
  std::vector<uint32_t> owners;
  for (const Instr& in : code.instrs) {
    using enum ir::Effect;
    const bool accesses =
        in.op && in.op->effects().any(kLoads | kStores | kAtomics | kAsync | kBlock | kMover);
    const std::optional<uint32_t> parameter = accesses ? parameter_of(*in.op, code) : std::nullopt;
    owners.push_back(parameter ? *parameter + 1 : 0);
  }
  return owners;
}

}  // namespace

Checks::Checks(const CheckedCode& code, const exec::LaunchOptions& options, const exec::Memory& memory,
               machine::Shuffle* shuffle)
    : code_(code), shuffle_(shuffle) {
  if (options.checks & (exec::kCheckNan | exec::kCheckInf | exec::kCheckNanLoad))
    nan_ = std::make_unique<NanCheck>((options.checks & exec::kCheckInf) != 0,
                                      (options.checks & exec::kCheckNanLoad) != 0);
  zero_division_ = (options.checks & exec::kCheckZeroDivision) != 0;
  quiet_ = !(options.checks & exec::kCheckUninitialized);
  const bool notes_writes = machine::Unwritten(memory).any();
  if (!quiet_ || nan_ || zero_division_ || (options.checks & exec::kCheckHints) || notes_writes)
    uninit_ = std::make_unique<UninitCheck>(code, memory, options.follows_undefined);
  substitutes_ = options.substitution != nullptr;
  if (options.perturb) perturbation_ = std::make_unique<Perturbation>(code, *options.perturb);
  if (options.checks & exec::kCheckView) owners_ = owners_of(code.code);
  if (options.checks & exec::kCheckHints) hints_ = std::make_unique<HintCheck>(code.code);
  if (options.checks & exec::kCheckOverflow) overflow_ = std::make_unique<OverflowCheck>(code);
  if (options.checks & exec::kCheckRace) race_ = std::make_unique<RaceCheck>(code, memory);
}

Checks::~Checks() = default;

void Checks::begin(Program& program) {
  if (!uninit_ && !race_ && !overflow_) return;
  if (!program.checks) program.checks = std::make_unique<ProgramChecks>();
  if (uninit_) uninit_->begin(program);
  if (overflow_) overflow_->begin(program);
  if (race_) race_->begin(program);
}

bool Checks::looks_at(const Instr& in) const {
  // Not at what runs once for all programs, nor at what drops values (its op is another's).
  return in.op && &in >= code_.code.entry && in.run != run_release;
}

bool Checks::before(Task& t, const Instr& in) {
  if (hints_ && &in == code_.code.entry && !hints_->begin(t, in)) return false;
  if (!looks_at(in)) return true;
  if (!owners_.empty())
    t.worker->memory.keep_to(owners_[static_cast<size_t>(&in - code_.code.instrs.data())]);
  return (!uninit_ || quiet_ || uninit_->before(t, in)) && (!race_ || race_->before(t, in)) &&
         (!overflow_ || overflow_->before(t, in));
}

bool Checks::after(Task& t, const Instr& in) {
  if (!looks_at(in)) return true;
  t.worker->memory.keep_to(0);
  if (overflow_) overflow_->after(t, in);
  if (uninit_) {
    uninit_->after(t, in);
    if (!quiet_ && substitutes_) uninit_->define_results(t, in);
  }
  if (nan_ && !nan_->after(t, in, *uninit_)) return false;
  if (hints_ && !hints_->after(t, in, *uninit_)) return false;
  if (zero_division_ && !quotients_are_defined(t, in, *uninit_)) return false;
  if (race_ && !race_->after(t, in)) return false;
  if (perturbation_) perturbation_->after(t, in);
  return true;
}

bool Checks::block(Task& t, const Instr& in, AccessKind kind, uint64_t address, uint64_t bytes,
                   int64_t element, int64_t size, const std::byte* data) {
  if (race_ && !race_->block(t, in, kind, address, bytes, element, size, data)) return false;
  if (uninit_ && quiet_ && kind != AccessKind::kLoad) uninit_->block_noted(address, bytes);
  if (!uninit_ || quiet_) return true;
  if (kind == AccessKind::kLoad) {
    uninit_->block_loaded(address, bytes, element, size);
    return true;
  }
  return uninit_->block_stored(t, in, address, bytes, element, size);
}

bool check_block(Checks& checks, Task& t, const Instr& in, AccessKind kind, uint64_t address, uint64_t bytes,
                 int64_t element, int64_t size, const std::byte* data) {
  return checks.block(t, in, kind, address, bytes, element, size, data);
}

bool Checks::preempt(const Instr& in) {
  constexpr uint64_t kTurn = 16;  // instructions, on average
  if (!shuffled() || &in < code_.code.entry || random().below(kTurn) != 0) return false;
  return preempted_ = true;
}

std::optional<exec::Permutation> element_order(Task& t, int64_t n) {
  Checks* checks = t.worker->launch->checks;
  if (!checks || !checks->shuffled()) return {};
  return exec::Permutation(checks->random().next(), static_cast<uint64_t>(n));
}

bool is_on(Task& t, const Instr& in, ir::GroupName group) {
  const int i = Lowering::operand_index(*in.op, group);
  return i < 0 || t.bits(in.operand(static_cast<uint32_t>(i))) != 0;
}

Access any_access_of(const Instr& in) {
  Access a = access_of(in);
  if (a.kind == AccessKind::kNone) a = atomic_access_of(in);
  if (a.kind == AccessKind::kNone) a = poll_access_of(in);
  if (a.kind == AccessKind::kNone) a = async_access_of(in);
  return a;
}

namespace {

template <bool kChecked>
void run(Task& t, Checks& checks) {
  const Launch& launch = *t.worker->launch;
  const bool counted = launch.options->max_steps > 0;
  const Instr* pc = t.pc;
  t.outcome = Outcome::kRunning;
  bool first = true;
  auto step = [&](const Instr& in) {
    if ((counted && !t.count_step(in)) || (kChecked && !checks.before(t, in))) return pc = nullptr;
    pc = in.run(t, in);
    // One that yields to itself has not found yet what it waits for.
    const bool done =
        pc || t.outcome == Outcome::kFinished || (t.outcome == Outcome::kYielded && t.pc != &in);
    if (kChecked && done && !checks.after(t, in)) return pc = nullptr;
    if (pc) t.forget_operands(in, checks.kills(t, in));
    if (first) t.progressed = pc != nullptr || t.outcome != Outcome::kBlocked;
    first = false;
    return kChecked && pc && checks.preempt(in) ? pc = t.yield_to(pc) : pc;
  };
  while (pc) {
    const Instr& in = *pc;
    try {
      step(in);
    } catch (const std::bad_alloc& error) {
      pc = t.trap_memory(in, error);
    }
  }
}

}  // namespace

void run_checked(Task& t, Checks& checks) { run<true>(t, checks); }
void run_unchecked(Task& t, Checks& checks) { run<false>(t, checks); }

std::string element_text(const void* element, num::Type type) {
  const uint64_t bits = num::load_bits(element, type);
  char text[64];
  if (type == num::Type::kPointer) {
    snprintf(text, sizeof text, "0x%" PRIx64, bits);
  } else if (type == num::Type::kI1) {
    return bits ? "true" : "false";
  } else if (num::is_float(type)) {
    const double x = num::to_double(bits, type);
    if (std::isnan(x)) return "nan";
    snprintf(text, sizeof text, type == num::Type::kF64 ? "%.17g" : "%.9g", x);
  } else {
    snprintf(text, sizeof text, "%" PRId64, num::sign_extend(bits, type));
  }
  return text;
}

std::string operand_text(Task& t, const Instr& in, uint32_t operand, int64_t element) {
  const Slot s = in.operand(operand);
  const TileType& type = t.type(s);
  std::string name = "operand " + std::to_string(operand);
  if (operand < in.op->num_operands() && !in.op->operand(operand)->name.empty())
    name = "%" + std::string(in.op->operand(operand)->name);
  const Look look(t, s);
  return name + " = " + element_text(look.data() + (type.n > 1 ? element : 0) * type.size, type.element);
}

std::string iteration_text(Task& t, const Instr& in) {
  const std::vector<int64_t> counts = t.iterations(in);
  if (counts.empty()) return "";
  if (counts.size() == 1) return "in iteration " + std::to_string(counts[0]) + " of the loop around it";
  return "in iterations (" + exec::numbers_text(counts) + ") of the loops around it, outermost first";
}

std::string place_text(const ir::Op& op, const Code& code) {
  return std::string(op.name) + " at " + location_of(op, *code.module).str();
}

const Instr* trap_with_notes(Task& t, const Instr& in, exec::Cause cause, std::string message,
                             std::vector<int64_t> element, std::vector<std::string> notes) {
  t.trap(in, cause, std::move(message), std::move(element));
  Launch& l = *t.worker->launch;
  std::lock_guard lock(l.mutex);
  if (l.trap && l.trap_number == t.program->number && l.trap->kind == cause.kind)
    l.trap->notes = std::move(notes);
  return nullptr;
}

}  // namespace triton_runner::tile
