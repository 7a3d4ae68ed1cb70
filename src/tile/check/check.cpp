// Which checks a launch has, the loop that runs its instructions under them, and the texts that they share.
#include "check.h"

#include <cinttypes>
#include <cmath>

#include "../location.h"
#include "nan.h"

namespace triton_runner::tile {

void CheckedCode::take_kills() {
  kills.clear();
  for (Instr& in : code.instrs) {
    kills.push_back(in.kills);
    in.kills = 0;
  }
}

Checks::Checks(const CheckedCode& code, const exec::LaunchOptions& options, const exec::Memory&)
    : code_(code), random_(options.shuffle.value_or(0)) {
  if (options.shuffle) order_.emplace(*options.shuffle, options.grid[0] * options.grid[1] * options.grid[2]);
  if (options.checks & (exec::kCheckNan | exec::kCheckInf | exec::kCheckNanLoad))
    nan_ = std::make_unique<NanCheck>((options.checks & exec::kCheckInf) != 0,
                                      (options.checks & exec::kCheckNanLoad) != 0);
}

Checks::~Checks() = default;

void Checks::begin(Program&) {}

bool Checks::before(Task&, const Instr&) { return true; }

bool Checks::after(Task& t, const Instr& in) {
  if (!in.op) return true;
  return !nan_ || nan_->after(t, in);
}

bool Checks::preempt(const Instr& in) {
  constexpr uint64_t kTurn = 16;  // instructions, on average
  if (!shuffled() || &in < code_.code.entry || random_.below(kTurn) != 0) return false;
  return preempted_ = true;
}

namespace {

void release(Task& t, const Instr& in, uint64_t kills) {
  for (; kills; kills &= kills - 1) {
    Value& v = t.values[in.operand(std::countr_zero(kills))];
    if (v.buffer) t.drop(v);
    v.form = Form::kNone;
  }
}

template <bool kChecked>
void run(Task& t, Checks& checks) {
  const Launch& launch = *t.worker->launch;
  const bool observed = !launch.observed.empty(), counted = launch.options->max_steps > 0;
  const Instr* pc = t.pc;
  t.outcome = Outcome::kRunning;
  bool first = true;
  auto step = [&](const Instr& in) {
    if ((counted && !t.count_step(in)) || (kChecked && !checks.before(t, in))) return pc = nullptr;
    pc = in.run(t, in);
    const bool done = pc || t.outcome == Outcome::kFinished || t.outcome == Outcome::kYielded;
    if (kChecked && done && !checks.after(t, in)) return pc = nullptr;
    if (observed && (pc || t.outcome == Outcome::kFinished)) observe(t, in);
    if (pc) release(t, in, checks.kills(t, in));
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
  const auto* data = static_cast<const std::byte*>(t.dense(s));
  return name + " = " + element_text(data + (type.n > 1 ? element : 0) * type.size, type.element);
}

std::vector<int64_t> index_of(int64_t element, const TileType& type) {
  std::vector<int64_t> index(type.rank);
  for (int d = type.rank - 1; d >= 0; --d) index[d] = element % type.shape[d], element /= type.shape[d];
  return index;
}

std::string iteration_text(Task& t, const Instr& in) {
  std::vector<int64_t> counts;
  for (uint32_t loop = in.loop; loop; loop = t.code->loops[loop - 1].parent)
    counts.insert(counts.begin(), t.values[t.code->loops[loop - 1].counter].bits);
  if (counts.empty()) return "";
  if (counts.size() == 1) return "in iteration " + std::to_string(counts[0]) + " of the loop around it";
  std::string out = "in iterations (";
  for (size_t i = 0; i < counts.size(); ++i) out += (i ? ", " : "") + std::to_string(counts[i]);
  return out + ") of the loops around it, outermost first";
}

std::string place_text(const ir::Op& op, const Code& code) {
  return std::string(op.name) + " at " + location_of(op, *code.module).str();
}

const Instr* trap_with_notes(Task& t, const Instr& in, exec::TrapKind kind, std::string message,
                             std::vector<int64_t> element, std::vector<std::string> notes) {
  t.trap(in, kind, std::move(message), std::move(element));
  Launch& l = *t.worker->launch;
  std::lock_guard lock(l.mutex);
  if (l.trap && l.trap_program == t.program->linear && l.trap->kind == kind) l.trap->notes = std::move(notes);
  return nullptr;
}

}  // namespace triton_runner::tile
