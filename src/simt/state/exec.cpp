// Completes asynchronous operations, and makes the traps of handlers: their words, place and origin.
#include "state/exec.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/base/text.h>
#include <triton_runner/exec/faults.h>

#include "code/arguments.h"

namespace triton_runner::simt {

AsyncOp::AsyncOp(const Exec& x, const Operands& in) : cta(x.cta), instr(&instr_of(in)) {}

bool Cluster::complete_oldest() {
  return async.take_oldest([this](auto& op) { complete(*op); }) != 0;
}

void Cluster::complete(AsyncOp& op) {
  op.complete(*this);
  ++events;
  worker->launch->progress.changed();
}

void Cluster::tell_before_it_goes(uint32_t address) {
  bool is_held = false;  // by what the tensor core has to do first
  async.take(
      [&](const auto& issued) {
        is_held |= issued.op->is_tensor_core();
        return !is_held && issued.op->tells(address);
      },
      [this](auto& op) { complete(*op); });
}

void Cluster::issue(std::unique_ptr<AsyncOp> op, uint32_t agent) {
  async.issue(std::move(op), agent);
  async.settle([](const auto&) { return true; }, [this](auto& due) { complete(*due); });
}

namespace {

// The instruction that another was made for; for one that the lowering added, what stands before it.
const Source* source_of(const Code& code, const Operands& in) {
  const Instr *first = code.instrs.data(), *end = first + code.instrs.size(), *at = &instr_of(in);
  if (at < first || at >= end) return at->source;  // one that another runs
  // In machine code the last of several has it.
  if (code.level == "cubin")
    for (const Instr* next = at; next < end; ++next)
      if (next->source) return next->source;
  while (!at->source && at > first) --at;
  return at->source;
}

// The parameter that a global address was made from: what to call it, and the address that was passed.
std::optional<std::pair<std::string, uint64_t>> origin_of(const Launch& l, const Code& c,
                                                          const Source& access) {
  const std::optional<uint32_t> place = c.listing->parameter_of(access, l.plan->pointers());
  if (!place) return {};
  uint64_t base;
  std::memcpy(&base, l.params.data() + c.params[*place].offset, sizeof base);
  return std::pair{l.plan->name_at(*place), base};
}

std::string distance_text(const std::string& name, uint64_t base, uint64_t address) {
  const auto offset = static_cast<int64_t>(address - base);
  if (offset == 0) return name;
  const uint64_t n = offset < 0 ? -static_cast<uint64_t>(offset) : static_cast<uint64_t>(offset);
  return name + (offset < 0 ? " - " : " + ") + std::to_string(n) + (n == 1 ? " byte" : " bytes");
}

}  // namespace

void Exec::keep_to_owner(const Operands& in) {
  const Source* source = source_of(code(), in);
  std::optional<uint32_t> parameter;
  if (source) parameter = code().listing->parameter_of(*source, launch().plan->pointers());
  worker->memory.keep_to(parameter ? *parameter + 1 : 0);
}

exec::Trap Exec::made_trap(const Operands& in, exec::Cause cause, std::string message, uint32_t lane,
                           uint64_t address, uint32_t bytes, std::vector<std::string> notes) const {
  const Code& c = code();
  exec::Trap t;
  t.kind = cause.kind;
  t.race = cause.race;
  t.kernel = c.kernel;
  t.message = std::move(message);
  for (size_t d = 0; d < 3; ++d) t.program[d] = cta->id[d];
  if (lane != kNoRegister) {
    const uint32_t thread = first + lane;
    const uint32_t x = std::max(1u, c.block[0]), y = std::max(1u, c.block[1]);
    t.thread = {static_cast<int64_t>(thread % x), static_cast<int64_t>(thread / x % y),
                static_cast<int64_t>(thread / x / y)};
  }
  t.address = address;
  t.access_bytes = bytes;
  const Source* source = source_of(c, in);
  uint64_t from = 0;  // what the argument that the address was made from points to
  if (bytes && (address & kWindowMask) != kSharedWindow && (address & kWindowMask) != kLocalWindow) {
    if (source)
      if (auto origin = origin_of(*worker->launch, c, *source)) {
        t.argument = origin->first;
        t.place = distance_text(origin->first, origin->second, address);
        from = origin->second;
      }
    const exec::Heap& heap = *worker->launch->heap;
    t.nearest = heap.contains(address)
                    ? heap.describe(address, bytes)
                    : worker->memory.memory().describe(address, bytes, from, worker->memory.owner());
    if (t.kind == exec::TrapKind::kOutOfBounds &&
        worker->memory.memory().hides(address, worker->memory.owner()))
      t.kind = exec::TrapKind::kView;
  }
  if (!t.place.empty()) t.message += ": " + t.place;
  if (!t.nearest.empty()) t.message += (t.place.empty() ? ": " : ", ") + t.nearest;
  if (source) {
    t.op = std::string(source->name);
    t.location = c.listing->location(*source);
    t.instruction = c.listing->text(*source);
    t.artifact_line = t.location.line;
    t.ptx_line = c.listing->origin_line(*source);
    if (auto at = c.listing->program_location(*source)) {
      t.notes.push_back("the instruction is at " + t.location.str() + ": " + t.instruction);
      t.location = std::move(*at);
    }
    if (t.ptx_line)
      t.notes.push_back("'" + t.instruction + "' was made from line " + std::to_string(t.ptx_line) +
                        " of the PTX");
  }
  for (std::string& n : notes) t.notes.push_back(std::move(n));
  if (from && t.kind == exec::TrapKind::kOutOfBounds)
    exec::advise_on_distance(t, static_cast<int64_t>(address - from), worker->launch->options->checks,
                             c.level);
  return t;
}

void Exec::trap(const Operands& in, exec::Cause cause, std::string message, uint32_t lane, uint64_t address,
                uint32_t bytes, std::vector<std::string> notes) {
  pc = nullptr;
  leave();
  if (worker->launch->stops(*cta->cluster)) return;
  trap(made_trap(in, cause, std::move(message), lane, address, bytes, std::move(notes)));
}

void Exec::trap(exec::Trap made) {
  pc = nullptr;
  leave();
  Launch& l = *worker->launch;
  if (!l.stops(*cta->cluster)) l.record(std::move(made), cta->cluster->number);
}

void Exec::warn(const Operands& in, exec::Cause cause, std::string by, std::string message, uint32_t lane,
                uint64_t address, uint32_t bytes, std::vector<std::string> notes) {
  auto made = [&] {
    exec::Trap t = made_trap(in, cause, std::move(message), lane, address, bytes, std::move(notes));
    t.warning = std::move(by);
    return t;
  };
  Launch& l = *worker->launch;
  if (cause.kind == exec::TrapKind::kOutOfBounds && goes_on())
    return l.options->faults->note(site(in), program(), 1, made);
  std::lock_guard lock(l.mutex);
  if (!l.warning || program() < l.warning->first) l.warning = {program(), made()};
}

const void* Exec::site(const Operands& in) const {
  const Source* source = source_of(code(), in);
  return source ? source->at : nullptr;
}

int64_t Exec::program() const {
  const auto& blocks = launch().blocks;
  return (int64_t{cta->id[2]} * blocks[1] + cta->id[1]) * blocks[0] + cta->id[0];
}

}  // namespace triton_runner::simt
