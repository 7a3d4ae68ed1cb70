// Lowers cp.async and its AMD relatives: global memory to shared memory, seen by the program when it waits.
#include "lowering.h"
#include "machine/shared_state.h"
#include "ops/dot.h"
#include "ops/memory.h"

namespace triton_runner::tile {
namespace {

struct AsyncCopy {
  const MemPlan* plan;
  int memory;                 // operand
  int pointers;               // operand; the loaded tile is the first result
  int mask = -1, other = -1;  // operands
};

const Instr* run_async_copy(Task& t, const Instr& in, const AsyncCopy& c) {
  const Slot tile = in.result();
  if (in.num_results > 1) foresee_copy(t, tile, in.operand(c.pointers), slot_at(in, c.mask), in.result(1));
  if (!load_tile(t, in, tile, in.operand(c.pointers), slot_at(in, c.mask), slot_at(in, c.other)))
    return nullptr;
  t.dense(tile);
  Value& v = t.value(tile);
  // The elements travel on as they are; nobody else has them.
  SharedState::of(t).issue(t, {v.buffer, c.plan, mem_desc(t, in.operand(c.memory))});
  v.buffer = nullptr;
  v.form = Form::kNone;
  return next(in);
}

}  // namespace

Access async_access_of(const Instr& in) {
  if (in.run != handler<run_async_copy>) return {};
  const auto& c = in.as<AsyncCopy>();
  return {AccessKind::kLoad, slot_at(in, c.pointers), slot_at(in, c.mask), slot_at(in, c.other)};
}

namespace {

void run_commit(Task& t, const Instr&) { SharedState::of(t).commit(t); }

void run_wait(Task& t, const Instr& in) { SharedState::of(t).wait(t, in.as<int64_t>()); }

void run_wait_all(Task& t, const Instr&) {
  SharedState& state = SharedState::of(t);
  state.commit(t);
  state.wait(t, 0);
}

// Copies through `pointers` into the buffer that is the operand `memory`; `zero`: what is masked off is 0, if the op
// does not say otherwise, and compilers count on it.
void emit_async_copy(Lowering& l, const ir::Op& op, ir::GroupName memory, Slot pointers, bool zero) {
  const MemView* view = mem_view(l, *op.operand_of(memory), op);
  if (!view) return;
  const Slot tile = l.new_slot(l.tile_type(view->element, view->whole_shape()));
  auto* copy = l.make<AsyncCopy>(l.make<MemPlan>(*view), 0, 1);
  std::vector<Slot> operands{l.slot(op.operand_of(memory)), pointers};
  const auto mask = optional_slot(l, op.operand_of("mask"));
  auto other = optional_slot(l, op.operand_of("other"));
  if (mask && !other && zero) other = l.constant(0, l.type_of(tile));
  if (mask) copy->mask = static_cast<int>(operands.size()), operands.push_back(*mask);
  if (other) copy->other = static_cast<int>(operands.size()), operands.push_back(*other);
  std::vector<Slot> results{tile};
  if (l.fuses()) results.push_back(l.new_slot(l.i64_type()));
  l.emit<run_async_copy>(op, std::move(results), std::move(operands), copy);
}

}  // namespace

void lower_async_copy_global_to_local(Lowering& l, const ir::Op& op) {
  emit_async_copy(l, op, "result", l.slot(op.operand_of("src")), false);
}

void lower_amd_buffer_load_to_local(Lowering& l, const ir::Op& op) {
  emit_async_copy(l, op, "dest", buffer_pointers(l, op), true);
}

void lower_async_commit_group(Lowering& l, const ir::Op& op) { l.emit<run_commit>(op, {}, {}); }

void lower_async_wait(Lowering& l, const ir::Op& op) { l.emit<run_wait>(op, {}, {}, l.number(op, "num")); }

// Counts instructions of the machine, which the tile engine has none of: it waits for everything.
void lower_async_wait_all(Lowering& l, const ir::Op& op) { l.emit<run_wait_all>(op, {}, {}); }

}  // namespace triton_runner::tile
