// cp.async and its AMD relatives: global memory to shared memory, seen by the program when it waits.
#include "lowering.h"
#include "machine/shared_state.h"
#include "ops/memory.h"

namespace triton_runner::tile {
namespace {

struct AsyncCopy {
  const MemPlan* plan;
  int memory;                 // operand
  int pointers;               // operand; the loaded tile is the instruction's only result
  int mask = -1, other = -1;  // operands
};

const Instr* run_async_copy(Task& t, const Instr& in, const AsyncCopy& c) {
  const Slot tile = in.result();
  auto slot = [&](int operand) { return operand < 0 ? kNoSlot : int64_t{in.operand(operand)}; };
  if (!load_tile(t, in, tile, in.operand(c.pointers), slot(c.mask), slot(c.other))) return nullptr;
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
  Access a;
  if (in.run != handler<run_async_copy>) return a;
  const auto& c = in.as<AsyncCopy>();
  a.kind = AccessKind::kLoad;
  a.ptr = in.operand(c.pointers);
  if (c.mask >= 0) a.mask = in.operand(c.mask);
  if (c.other >= 0) a.other = in.operand(c.other);
  return a;
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
  std::vector<int64_t> shape(view->leading);
  shape.insert(shape.end(), view->shape.begin(), view->shape.end());
  const Slot tile = l.new_slot(l.tile_type(view->element, std::move(shape)));
  auto* copy = l.make<AsyncCopy>(l.make<MemPlan>(*view), 0, 1);
  std::vector<Slot> operands{l.slot(op.operand_of(memory)), pointers};
  const auto mask = optional_slot(l, op.operand_of("mask"));
  auto other = optional_slot(l, op.operand_of("other"));
  if (mask && !other && zero) other = l.constant(0, l.type_of(tile));
  if (mask) copy->mask = static_cast<int>(operands.size()), operands.push_back(*mask);
  if (other) copy->other = static_cast<int>(operands.size()), operands.push_back(*other);
  l.emit<run_async_copy>(op, {tile}, operands, copy);
}

}  // namespace

void lower_async_copy_global_to_local(Lowering& l, const ir::Op& op) {
  emit_async_copy(l, op, "result", l.slot(op.operand_of("src")), false);
}

void lower_amd_buffer_load_to_local(Lowering& l, const ir::Op& op) {
  const ir::Type& offsets = *op.operand_of("offsets")->type;
  const TileType* pointer = l.type(op.operand_of("ptr")->type);
  const Slot pointers =
      l.new_slot(l.tile_type(num::Type::kPointer, {offsets.shape.begin(), offsets.shape.end()}));
  emit_addptr(l, op, pointers, l.slot(op.operand_of("ptr")), l.slot(op.operand_of("offsets")),
              pointer->pointee);
  emit_async_copy(l, op, "dest", pointers, true);
}

void lower_async_commit_group(Lowering& l, const ir::Op& op) { l.emit<run_commit>(op, {}, {}); }

void lower_async_wait(Lowering& l, const ir::Op& op) {
  l.emit<run_wait>(op, {}, {}, l.make<int64_t>(op.int_attr("num", 0)));
}

// Counts instructions of the machine, which the tile engine has none of: it waits for everything.
void lower_async_wait_all(Lowering& l, const ir::Op& op) { l.emit<run_wait_all>(op, {}, {}); }

}  // namespace triton_runner::tile
