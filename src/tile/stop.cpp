// Puts stops into code: launches with an exec::Stopper (a debugger) run code with a stop before each op that
// it wants. Where it wants all of them, nothing is fused, computed once for all programs or released, so that
// whatever is in sight can be shown and set; where it wants a few (Stopper::is_sparse), a stop is a reader of
// the values that it keeps.
#include <algorithm>
#include <cstring>

#include <triton_runner/exec/stopper.h>

#include "lowering.h"
#include "machine/memdesc.h"
#include "machine/shared_state.h"
#include "snapshot.h"
#include "stop_machine.h"

namespace triton_runner::tile {
namespace {

struct Stop {
  uint32_t place;
  std::vector<const ir::Op*> calls;
  // For each value in sight, the nearest first.
  std::vector<const void*> values;
  std::vector<Slot> slots;
  std::vector<const MemPlan*> plans;  // of buffers in shared or tensor memory; else null
  std::vector<num::Type> elements;    // of those
  std::vector<uint8_t> fixed;         // set once for all programs
  std::vector<std::pair<const ir::Value*, Slot>> descriptors;
};

class StoppedTask final : public exec::Stopped {
 public:
  StoppedTask(Task& task, const Instr& in) : task_(task), in_(in), stop_(in.as<Stop>()) {}

  std::shared_ptr<exec::Snapshot> snapshot() override { return snapshot_of(task_, in_); }
  void restore(std::shared_ptr<exec::Snapshot> snapshot) override {
    task_.program->restored = std::move(snapshot);
  }
  std::array<int64_t, 3> program() const override { return task_.program->id; }
  size_t task() const override { return task_.program->number_of(task_); }
  std::vector<int64_t> iterations() const override { return task_.iterations(in_); }
  std::vector<const void*> calls() const override { return {stop_.calls.begin(), stop_.calls.end()}; }
  std::span<const void* const> values() const override { return stop_.values; }

  bool look(size_t value, const std::function<void(const exec::Elements&)>& take) override {
    const Slot s = stop_.slots[value];
    const TileType& type = task_.type(s);
    if (task_.value(s).form == Form::kNone) return false;
    if (const MemPlan* plan = stop_.plans[value]) {
      Buffer* elements = SharedState::of(task_).read_planned(*plan, mem_desc(task_, s));
      const auto& shape = static_cast<const ir::Value*>(stop_.values[value])->type->shape;
      take({stop_.elements[value], shape, elements->data()});
      task_.worker->pool->release(elements);
      return true;
    }
    if (type.size == 0) return false;
    const Look elements(task_, s);
    take({type.element, type.shape, elements.data()});
    return true;
  }

  bool write(size_t value, std::span<const std::byte> elements) override {
    const Slot s = stop_.slots[value];
    const TileType& type = task_.type(s);
    if (stop_.fixed[value] || task_.value(s).form == Form::kNone) return false;
    if (const MemPlan* plan = stop_.plans[value]) {
      if (static_cast<int64_t>(elements.size()) != plan->bytes()) return false;
      Buffer* written = task_.worker->pool->allocate(elements.size());
      std::memcpy(written->data(), elements.data(), elements.size());
      SharedState::of(task_).write(*plan, mem_desc(task_, s), written);
      return true;
    }
    if (type.size == 0 || static_cast<int64_t>(elements.size()) != type.bytes) return false;
    if (!type.is_tensor) return task_.set_uniform_from(s, elements.data()), true;
    std::memcpy(task_.new_dense(s), elements.data(), elements.size());
    return true;
  }

  std::vector<std::string> paths() override { return tasks_of(task_, in_); }
  std::vector<exec::StoppedBarrier> barriers() override { return barriers_of(task_); }
  std::vector<std::string> copies() override { return copies_of(*task_.program); }
  std::vector<exec::StoppedBuffer> buffers() override {
    std::vector<exec::StoppedBuffer> out;
    for (size_t i = 0; i < stop_.slots.size(); ++i) {
      const MemPlan* plan = stop_.plans[i];
      if (!plan || task_.value(stop_.slots[i]).form == Form::kNone) continue;
      const MemDesc d = mem_desc(task_, stop_.slots[i]);
      const auto bytes = static_cast<uint64_t>(plan->in_tensor_memory() ? plan->span() : plan->bytes());
      out.push_back({i, "", plan->in_tensor_memory(), d.base, bytes});
    }
    return out;
  }
  std::vector<std::pair<std::string, std::string>> descriptors() override {
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& [value, slot] : stop_.descriptors)
      if (task_.value(slot).form == Form::kObject)
        out.emplace_back(std::string(value->name), descriptor_text(task_, slot, *value->type));
    return out;
  }
  std::byte* shared(uint64_t at, uint64_t bytes) override {
    return shared_bytes_of(*task_.program, at, bytes);
  }
  bool freeze(size_t task, bool on) override {
    std::deque<Task>& all = task_.program->tasks;
    if (task >= all.size() || all.size() < 2 || task_.program->cluster) return false;
    all[task].frozen = on;
    return true;
  }

 private:
  Task& task_;
  const Instr& in_;
  const Stop& stop_;
};

const Instr* run_stop(Task& t, const Instr& in) {
  StoppedTask stopped(t, in);
  if (t.worker->launch->options->stopper->on_stop(in.as<Stop>().place, stopped))
    return t.program->restored ? t.yield_to(&in) : t.frozen ? t.block(*next(in)) : next(in);
  return t.trap(in, exec::TrapKind::kInterrupted, "the debugger ended the launch");
}

}  // namespace

void Lowering::observe_for(const exec::LaunchOptions& options) {
  observer_ = options.observer;
  stopper_ = options.stopper;
}

bool Lowering::is_dense() const { return stopper_ && !stopper_->is_sparse(); }

void Lowering::show(std::span<ir::Value> values) {
  if (lanes_ > 0) return;
  for (ir::Value& v : values) {
    const bool buffer = v.type->kind == ir::TypeKind::kMemDesc;
    const ir::Op& op = v.defining_op ? *v.defining_op : *v.block->region->parent;
    const MemView* view = buffer ? mem_view(*this, v, op) : nullptr;
    visible_ = make<Visible>(&v, slot(&v), view, view ? make<MemPlan>(*view) : nullptr, visible_);
  }
}

void Lowering::stop_before(const ir::Op& op) {
  const uint32_t place = lanes_ > 0 ? exec::Stopper::kNowhere : stopper_->place_of(&op);
  if (place == exec::Stopper::kNowhere) return;
  auto* stop = make<Stop>();
  stop->place = place;
  stop->calls = call_ops_;
  for (const Visible* seen = visible_; seen; seen = seen->before) {
    if (seen->value->type->kind == ir::TypeKind::kTensorDesc && is_dense())
      stop->descriptors.emplace_back(seen->value, seen->slot);
    if (!seen->plan && type_of(seen->slot)->size == 0) continue;  // tokens and descriptors have no elements
    if (!is_dense() && !stopper_->keeps(seen->value)) continue;
    stop->values.push_back(seen->value);
    stop->slots.push_back(seen->slot);
    stop->plans.push_back(seen->plan);
    stop->elements.push_back(seen->view ? seen->view->element : num::Type{});
    stop->fixed.push_back(kept_[seen->slot]);
  }
  // An op of its own, as of a probe (observe.cpp).
  emit(run_stop, made_op(op, ir::OpKind::kUnknown, op.name), {},
       is_dense() ? std::vector<Slot>{} : stop->slots, stop);
}

}  // namespace triton_runner::tile
