// Implements stop_machine.h: reads tasks, barriers, copies and shared bytes of the program that stands.
#include "stop_machine.h"

#include <algorithm>

#include <triton_runner/base/text.h>

#include "machine/shared_state.h"
#include "machine/tensor_desc.h"
#include "trace/location.h"

namespace triton_runner::tile {
namespace {

SharedState* shared_state_of(const Program& p) { return static_cast<SharedState*>(p.state.get()); }

std::string partition_name(const Program& p, const Task& t) {
  const size_t number = p.number_of(t);
  return number == 0 ? "the default partition" : "partition " + std::to_string(number);
}

bool waits_for_barrier(const Task& t) {
  return t.outcome == Outcome::kBlocked && t.pc && t.pc->op && t.pc->op->name.ends_with("wait_barrier");
}

template <class T>
std::string by_axis(const T* numbers, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i ? " x " : "") + std::to_string(numbers[i]);
  return out;
}

}  // namespace

std::vector<std::string> tasks_of(const Task& here, const Instr& at) {
  std::vector<std::string> out;
  const Program& p = *here.program;
  for (const Task& t : p.tasks) {
    const Instr* pc = &t == &here ? &at : t.pc;
    std::string line = p.tasks.size() > 1 ? partition_name(p, t) : "the program";
    if (t.outcome != Outcome::kFinished && pc && pc->op)
      line += " at " + location_of(*pc->op, *t.code->module).str();
    line += t.frozen                          ? ": frozen"
            : &t == &here                     ? ": is here"
            : t.outcome == Outcome::kFinished ? ": has ended"
            : t.outcome == Outcome::kBlocked  ? ": waits in " + std::string(pc && pc->op ? pc->op->name : "")
                                              : ": can go on";
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<exec::StoppedBarrier> barriers_of(Task& here) {
  std::vector<exec::StoppedBarrier> out;
  Program& p = *here.program;
  SharedState* state = shared_state_of(p);
  if (!state) return out;
  for (const uint32_t at : state->barriers()) {
    const Mbarrier* barrier = state->barrier(at);
    if (!barrier) continue;
    exec::StoppedBarrier& b = out.emplace_back();
    b.at = at;
    b.text = barrier->text();
    for (Task& t : p.tasks)
      if (waits_for_barrier(t) && address_of(mem_desc(t, t.pc->operand(0))) == at)
        b.waiting.push_back(partition_name(p, t));
  }
  return out;
}

std::vector<std::string> copies_of(const Program& program) {
  const SharedState* state = shared_state_of(program);
  return state ? state->under_way() : std::vector<std::string>{};
}

std::byte* shared_bytes_of(Program& program, uint64_t at, uint64_t bytes) {
  const auto all = static_cast<uint64_t>(program.worker->launch->code->shared_bytes);
  if (!program.shared || at > all || bytes > all - at) return nullptr;
  return SharedState::of(program).bytes(static_cast<int64_t>(at), static_cast<int64_t>(bytes));
}

std::string descriptor_text(Task& task, Slot slot, const ir::Type& type) {
  const auto& desc = task.object<TensorDescriptor>(slot);
  const ir::Type& block = *type.element;
  return "at " + base::hex(desc.base) + ", shape " + by_axis(desc.shape, desc.rank) + ", strides " +
         by_axis(desc.strides, desc.rank) + ", block " +
         by_axis(block.shape.data(), static_cast<int>(block.shape.size())) + " of " +
         std::string(block.scalar()->text) + (desc.nan_padding ? ", NaN outside" : "") +
         (desc.im2col ? ", im2col" : "");
}

}  // namespace triton_runner::tile
