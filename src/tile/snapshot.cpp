// Implements snapshot.h: keeps the values, tasks and shared state of a program, and puts them back.
#include "snapshot.h"

#include <triton_runner/exec/stopper.h>

#include "machine/shared_state.h"

namespace triton_runner::tile {
namespace {

struct KeptProgram final : exec::Snapshot {
  explicit KeptProgram(BufferPool* buffers) : pool(buffers) {}
  ~KeptProgram() override {
    for (Value& v : values)
      if (v.buffer) pool->release(v.buffer);
  }
  struct TaskState {
    const Instr* pc;
    Outcome outcome;
    uint32_t polls;
    bool frozen, progressed;
    const Instr* spun_at;
  };
  BufferPool* pool;
  std::vector<Value> values;
  std::vector<TaskState> tasks;
  Program::Round round;
  bool was_refused = false;
  machine::Taker::Place programs{};
  std::shared_ptr<const SharedState::Kept> shared;
};

void add_references(const std::vector<Value>& values) {
  for (const Value& v : values)
    if (v.buffer) ++v.buffer->refs;
}

}  // namespace

std::shared_ptr<exec::Snapshot> snapshot_of(Task& task, const Instr& in) {
  Program& p = *task.program;
  const Launch& launch = *p.worker->launch;
  if (p.cluster || launch.checks || launch.shuffle) return nullptr;
  auto kept = std::make_shared<KeptProgram>(p.worker->pool);
  kept->values = p.values;
  add_references(kept->values);
  for (const Task& t : p.tasks)
    kept->tasks.push_back({&t == &task ? &in : t.pc, t.outcome, t.polls, t.frozen, t.progressed, t.spun_at});
  kept->round = p.round;
  kept->was_refused = p.was_refused;
  kept->programs = p.worker->programs->place();
  if (p.state) kept->shared = static_cast<SharedState&>(*p.state).keep();
  return kept;
}

void restore_program(Program& p) {
  const std::shared_ptr<exec::Snapshot> snapshot = std::move(p.restored);
  p.restored.reset();
  const auto& to = static_cast<const KeptProgram&>(*snapshot);
  add_references(to.values);
  for (Value& v : p.values)
    if (v.buffer) p.worker->pool->release(v.buffer);
  std::copy(to.values.begin(), to.values.end(), p.values.begin());  // tasks know where they are
  while (p.tasks.size() > to.tasks.size()) p.tasks.pop_back();
  for (size_t i = 0; i < to.tasks.size(); ++i) {
    const KeptProgram::TaskState& state = to.tasks[i];
    Task& t = p.tasks[i];
    t.pc = state.pc, t.outcome = state.outcome, t.polls = state.polls;
    t.frozen = state.frozen, t.progressed = state.progressed, t.spun_at = state.spun_at;
  }
  p.round = to.round;
  p.was_refused = to.was_refused;
  p.worker->programs->go_back(to.programs);
  if (!p.state) return;
  auto& shared = static_cast<SharedState&>(*p.state);
  if (to.shared)
    shared.go_back(*to.shared);
  else
    shared.begin(p);
}

}  // namespace triton_runner::tile
