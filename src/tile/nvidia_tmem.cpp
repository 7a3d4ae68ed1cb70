// Tensor memory: 128 lanes of 32-bit columns beside shared memory, and the copies into, out of and within it.
#include <cstring>

#include "lowering.h"
#include "shared_state.h"

namespace triton_runner::tile {
namespace {

// Buffers lie side by side in the columns and are never reused, so that a program may have more than a
// machine's 512.
int64_t reserve_columns(Lowering& l, const ir::Op& op, int64_t bytes) {
  Code& code = l.code();
  if (code.tensor_memory < 0)
    code.tensor_memory = l.reserve_shared(kTensorMemoryRow * kTensorMemoryRows, 128);
  const int64_t at = code.tensor_memory_used;
  if (at + bytes > kTensorMemoryRow) {
    l.error(op, "the buffers in tensor memory take more than " + std::to_string(kTensorMemoryRow / 4) +
                    " columns");
    return code.tensor_memory;
  }
  code.tensor_memory_used += bytes;
  return code.tensor_memory + at;
}

struct Alloc {
  uint32_t base;
  const MemPlan* plan;  // of the initial value; null without one
};

const Instr* run_tmem_alloc(Task& t, const Instr& in) {
  const auto& a = in.as<Alloc>();
  SharedState& state = SharedState::of(t);
  const MemDesc desc{a.base, 0};
  if (a.plan) state.write_value(t, *a.plan, desc, in.operand(0));
  t.new_object<MemDesc>(in.result()) = desc;
  return next(in);
}

const Instr* run_tmem_load(Task& t, const Instr& in) {
  SharedState::of(t).read_into(t, in.result(), in.as<MemPlan>(), mem_desc(t, in.operand(0)));
  return next(in);
}

const Instr* run_tmem_store(Task& t, const Instr& in) {
  if (t.bits(in.operand(2)) == 0) return next(in);
  SharedState::of(t).write_value(t, in.as<MemPlan>(), mem_desc(t, in.operand(0)), in.operand(1));
  return next(in);
}

struct Slice {
  uint32_t flip;
};

const Instr* run_tmem_subslice(Task& t, const Instr& in) {
  MemDesc d = mem_desc(t, in.operand(0));
  d.flip ^= in.as<Slice>().flip;
  t.new_object<MemDesc>(in.result()) = d;
  return next(in);
}

struct MemCopy {
  const MemPlan *from, *to;  // null where bytes are copied as they lie: block scales
  int64_t bytes;
  bool arrives;
};

const Instr* run_tmem_copy(Task& t, const Instr& in) {
  const auto& c = in.as<MemCopy>();
  SharedState& state = SharedState::of(t);
  const MemDesc from = mem_desc(t, in.operand(0)), to = mem_desc(t, in.operand(1));
  Mbarrier* barrier = nullptr;
  if (c.arrives) {
    const MemDesc b = mem_desc(t, in.operand(2));
    barrier = state.barrier(t, b.base + b.flip * 8);
    if (!barrier)
      return t.trap(in, exec::TrapKind::kInvalid,
                    "the copy's mbarrier was not initialised, was invalidated, or was overwritten");
  }
  if (c.from) {
    state.write(*c.to, to, state.read_planned(*c.from, from));
  } else {
    std::byte* arena = state.arena(t);
    // 32 rows of 16 bytes, one after the other in shared memory, become 16 bytes of 32 lanes.
    for (int64_t piece = 0; piece < c.bytes / 16; piece++) {
      const int64_t row = piece % 32, column = piece / 32 * 16;
      std::memcpy(arena + to.base + row * kTensorMemoryRow + column, arena + from.base + piece * 16, 16);
    }
  }
  if (barrier) SharedState::arrive(*barrier, 1);
  return next(in);
}

}  // namespace

void lower_tmem_alloc(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.result(), op);
  if (!view) return;
  int64_t bytes = view->buffer_bytes;
  for (int64_t d : view->leading) bytes *= d;
  auto* alloc = l.make<Alloc>(static_cast<uint32_t>(reserve_columns(l, op, bytes)), nullptr);
  std::vector<Slot> operands;
  if (const ir::Value* init = op.operand_of(0)) {
    alloc->plan = l.make<MemPlan>(*view);
    operands.push_back(l.slot(init));
  }
  l.emit(run_tmem_alloc, op, {l.slot(op.result())}, operands, alloc);
}

void lower_tmem_load(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of(0), op);
  if (!view) return;
  if (op.results.size() > 1 && op.result(1)->type->kind == ir::TypeKind::kTensor)
    return l.error(op, "a tmem_load that reduces is not supported");
  l.emit(run_tmem_load, op, {l.slot(op.result())}, {l.slot(op.operand_of(0))}, l.make<MemPlan>(*view));
}

void lower_tmem_store(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of(0), op);
  if (!view) return;
  l.emit(run_tmem_store, op, {},
         {l.slot(op.operand_of(0)), l.slot(op.operand_of(2)), l.slot(op.operand_of(3))},
         l.make<MemPlan>(*view));
}

void lower_tmem_subslice(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand(0), op);
  if (!view) return;
  const int64_t offset = op.int_attr("N", 0), width = op.result()->type->shape.back();
  if (!view->leading.empty() || view->shape.size() != 2 || offset < 0 || width <= 0 ||
      offset + width > view->shape[1] || offset % width != 0)
    return l.error(op, "a slice of " + std::to_string(width) + " columns from " + std::to_string(offset) +
                           " is not supported");
  const int64_t at[2] = {0, offset};
  l.emit(run_tmem_subslice, op, l.make<Slice>(view->place_of(at)));
}

void lower_tmem_copy(Lowering& l, const ir::Op& op) {
  const MemView *from = mem_view(l, *op.operand_of(0), op), *to = mem_view(l, *op.operand_of(1), op);
  if (!from || !to) return;
  auto* copy = l.make<MemCopy>(nullptr, nullptr, from->total() * from->size, op.operand_of(2) != nullptr);
  if (from->total() * from->size != to->total() * to->size)
    return l.error(op, "source and destination differ in size");
  if (to->encoding.kind == layout::EncodingKind::kTensorMemoryScales) {
    if (copy->bytes % 512 != 0 || !from->encoding.padding.empty() || from->encoding.swizzle_bytes != 0)
      return l.error(op, "block scales are copied from unswizzled pieces of 512 bytes only");
  } else {
    copy->from = l.make<MemPlan>(*from);
    copy->to = l.make<MemPlan>(*to);
  }
  l.emit(run_tmem_copy, op, copy);
}

}  // namespace triton_runner::tile
