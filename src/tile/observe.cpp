// Puts probes into code: launches with an observer run code in which an instruction follows each op that
// gives a value that it wants, and stands at the head of each block that such an argument belongs to. A
// debugger's stops are in stop.cpp.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <triton_runner/exec/observer.h>

#include "lowering.h"
#include "machine/memdesc.h"
#include "machine/shared_state.h"
#include "trace/origin.h"

namespace triton_runner::tile {
namespace {

struct Observed {
  exec::ValueSite site;
  const MemView* view;  // of buffers in shared or tensor memory
  const MemPlan* plan;
  std::vector<int64_t> shape;
  std::optional<uint32_t> parameter;  // of pointers: site.origin
};

void run_observe(Task& t, const Instr& in, const Observed& o) {
  const Slot s = in.operand(0);
  const std::vector<int64_t> iterations = t.iterations(in);
  const TileType& type = t.type(s);
  exec::ValueEvent event{o.site, type.element, o.shape, nullptr, t.program->id, iterations, {}, {}, {}};
  if (o.plan) {
    Buffer* elements = SharedState::of(t).read_planned(*o.plan, mem_desc(t, s));
    event.type = o.view->element;
    event.data = elements->data();
    t.worker->launch->options->observer->on_value(event);
    t.worker->pool->release(elements);
    return;
  }
  if (o.parameter) event.origin_address = place_of(*t.worker->launch, *o.parameter, 0).base;
  const Look look(t, s);
  event.data = look.data();
  t.worker->launch->options->observer->on_value(event);
}

// For a combine function: the elements that it was called with, at their places.
struct ObservedPart {
  exec::ValueSite site;
  const Places* places;
};

void run_observe_part(Task& t, const Instr& in, const ObservedPart& o) {
  const Places& p = *o.places;
  const Slot s = in.operand(0);
  const std::vector<int64_t> iterations = t.iterations(in);
  const TileType& type = t.type(s);
  const Look look(t, s);
  const std::byte* elements = look.data();
  exec::ValueEvent event{o.site, type.element, p.shape, elements, t.program->id, iterations, {}, {}, {}};
  if (p.rounds.empty()) {
    t.worker->launch->options->observer->on_value(event);
    return;
  }
  const std::vector<int64_t>& round = p.rounds[static_cast<size_t>(iterations.back())];
  const auto step = static_cast<size_t>(p.inner);
  const size_t bytes = step * static_cast<size_t>(type.size);
  std::vector<std::byte> whole(static_cast<size_t>(p.outer * p.length) * bytes);
  std::vector<uint8_t> mask(static_cast<size_t>(p.outer * p.length) * step);
  for (int64_t row = 0; row < p.outer; ++row)
    for (const int64_t place : round) {
      const auto at = static_cast<size_t>(row * p.length + place);
      std::memcpy(whole.data() + at * bytes, elements, bytes);
      std::fill_n(mask.data() + at * step, step, 1);
      elements += bytes;
    }
  event.data = whole.data();
  event.mask = mask;
  t.worker->launch->options->observer->on_value(event);
}

struct Marker {
  exec::ValueSite site;
  std::string prefix;
};

void run_marker(Task& t, const Instr& in, const Marker& m) {
  const std::vector<int64_t> iterations = t.iterations(in);
  std::vector<int64_t> arguments;
  for (uint32_t o = 1; o < in.num_operands; ++o) arguments.push_back(t.bits(in.operand(o)));
  const Slot s = in.operand(0);
  const TileType& type = t.type(s);
  const Look look(t, s);
  t.worker->launch->options->observer->on_value(
      {m.site, type.element, type.shape, look.data(), t.program->id, iterations, m.prefix, arguments, {}});
}

}  // namespace

void Lowering::mark(const ir::Op& op, std::string_view prefix) {
  if (!observer_ || lanes_ > 0 || op.num_operands() == 0) return;
  const ir::Value& v = *op.operand(0);
  const std::string_view name = v.defining_op ? v.defining_op->name : op.name;
  emit<run_marker>(op, make<Marker>(exec::ValueSite{&op, &v, name, v.name, v.index}, std::string(prefix)));
}

bool Lowering::observes(const ir::Region& region) const {
  if (!observer_) return false;
  auto wanted = [this](const ir::Op& op, std::span<ir::Value> values) {
    return std::any_of(values.begin(), values.end(),
                       [&](ir::Value& v) { return observer_->wants({&op, &v, op.name, v.name, v.index}); });
  };
  for (ir::Block* b = region.first; b; b = b->next) {
    if (wanted(*region.parent, b->args)) return true;
    for (ir::Op* op = b->first; op; op = op->next) {
      if (wanted(*op, op->results)) return true;
      for (const ir::Region* inner : op->regions)
        if (observes(*inner)) return true;
    }
  }
  return false;
}

void Lowering::observe(const ir::Op& op, std::span<ir::Value> values) {
  if (!observer_ || (lanes_ > 0 && !places_)) return;
  for (ir::Value& v : values) {
    const bool buffer = v.type->kind == ir::TypeKind::kMemDesc;
    const TileType& type = *type_of(slot(&v));
    if (!buffer && type.size == 0) continue;  // tokens and descriptors have no elements
    exec::ValueSite site{&op, &v, op.name, v.name, v.index};
    if (!observer_->wants(site)) continue;
    // An op of its own: what checks know of `op` does not hold for looking at its value.
    const ir::Op& look = made_op(op, ir::OpKind::kUnknown, "probe");
    if (places_) {
      emit<run_observe_part>(look, {}, {slot(&v)}, make<ObservedPart>(site, places_));
      continue;
    }
    auto* o = make<Observed>(site, nullptr, nullptr, type.shape);
    if (type.element == num::Type::kPointer && (o->parameter = parameter_of(v, code_))) {
      const ir::Op& func = *code_.module->find_function(code_.kernel);
      o->site.origin = *make<std::string>(param_name(func.region(0)->first->args[*o->parameter]));
      o->site.origin_bytes = type_of(code_.params[*o->parameter])->pointee;
    }
    if (buffer) {
      o->view = mem_view(*this, v, op);
      if (!o->view) return;
      o->plan = make<MemPlan>(*o->view);
      o->shape = o->view->whole_shape();
    }
    emit<run_observe>(look, {}, {slot(&v)}, o);
  }
}

}  // namespace triton_runner::tile
