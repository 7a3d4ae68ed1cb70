// Lowers AMD's tensor data mover: copies between tensor descriptors and shared memory (amdg.async_tdm_*), and
// descriptors that are moved to a tile (amdg.update_tensor_descriptor). A load is seen after the wait that
// covers it, or at its barrier.
#include <algorithm>

#include "lowering.h"
#include "machine/shared_state.h"
#include "machine/tensor_desc.h"
#include "ops/memory.h"

namespace triton_runner::tile {
namespace {

struct Piece {  // one descriptor and the buffer it goes with
  BlockType block;
  const MemPlan* plan;
  int desc, memory;  // operands
};

struct Copies {
  std::vector<Piece> pieces;
  int barrier = -1, rows = -1;  // operands
  int arrivals = 0;
  // Up to Triton 3.7 the copy says where the tile begins and whether it is on; later ones move the descriptor.
  int indices = -1, pred = -1;  // operands: the first index
  int first = 0, count = 0;     // dimensions that have an index
};

// Moves a descriptor by elements along a dimension. `clamp`: its end stays where it is.
void move(TensorDescriptor& desc, int d, int64_t by, int64_t element_bytes, bool clamp) {
  desc.base += static_cast<uint64_t>(by * desc.strides[d] * element_bytes);
  if (clamp) desc.shape[d] = by < 0 ? 0 : std::max<int64_t>(0, desc.shape[d] - by);
}

// Calls f(desc, box, where the box begins in the buffer) for the block, or for each row of a gather.
// False: trapped.
template <class F>
bool each_box(Task& t, const Instr& in, const Copies& c, const Piece& p, const F& f) {
  TensorDescriptor desc;
  if (!tensor_desc(t, in, in.operand(p.desc), desc)) return false;
  for (int i = 0; i < c.count; i++)
    move(desc, c.first + i, t.bits(in.operand(c.indices + i)),
         static_cast<int64_t>(num::size_of(p.block.type)), true);
  if (c.pred >= 0 && t.bits(in.operand(c.pred)) == 0) return true;
  Box box{};
  if (!open_box(t, in, desc, p.block, box)) return false;
  if (desc.off) return true;
  if (c.rows < 0) return f(desc, box, 0);
  const Slot rows = in.operand(c.rows);
  const TileType& type = t.type(rows);
  const auto* data = t.dense<std::byte>(rows);
  const int64_t bytes = p.plan->bytes() / type.n;
  for (int64_t r = 0; r < type.n; r++) {
    // Rows are unsigned: a negative one lies outside.
    box.at[0] = static_cast<int64_t>(num::load_bits(data + r * type.size, type.element));
    if (!f(desc, box, r * bytes)) return false;
  }
  return true;
}

const Instr* run_tdm_load(Task& t, const Instr& in, const Copies& c) {
  SharedState& state = SharedState::of(t);
  const uint32_t barrier = c.barrier < 0 ? 0 : address_of(mem_desc(t, in.operand(c.barrier)));
  if (c.barrier >= 0 && !state.barrier(barrier)) return no_barrier(t, in, "the copy's barrier");
  for (const Piece& p : c.pieces) {
    Buffer* data = t.worker->pool->allocate(p.plan->bytes());
    bool any = false;
    const bool ok = each_box(t, in, c, p, [&](const TensorDescriptor& desc, const Box& box, int64_t at) {
      any = true;
      return load_block(t, in, desc, box, p.block.type, data->data() + at);
    });
    if (!ok || !any) t.worker->pool->release(data);
    if (!ok) return nullptr;
    if (any) state.issue(t, {data, p.plan, mem_desc(t, in.operand(p.memory))}, SharedState::kTdm);
  }
  if (c.barrier < 0) {
    state.commit(t, SharedState::kTdm);
  } else {
    state.hand_over(t, barrier, c.arrivals, SharedState::kTdm);
  }
  return next(in);
}

const Instr* run_tdm_store(Task& t, const Instr& in, const Copies& c) {
  SharedState& state = SharedState::of(t);
  for (const Piece& p : c.pieces) {
    Buffer* data = t.worker->pool->allocate(p.plan->bytes());
    p.plan->read(data->data(), SharedState::of(t).arena(), mem_desc(t, in.operand(p.memory)));
    const bool ok = each_box(t, in, c, p, [&](const TensorDescriptor& desc, const Box& box, int64_t at) {
      return store_block(t, in, desc, box, p.block.type, data->data() + at);
    });
    t.worker->pool->release(data);
    if (!ok) return nullptr;
  }
  if (c.barrier < 0) {
    state.commit(t, SharedState::kTdm);
  } else {
    Mbarrier* b = state.barrier(address_of(mem_desc(t, in.operand(c.barrier))));
    if (!b) return no_barrier(t, in, "the copy's barrier");
    if (!arrive(t, in, *b, {.count = c.arrivals})) return nullptr;
  }
  t.worker->launch->made_progress();
  return next(in);
}

void run_tdm_wait(Task& t, const Instr& in) {
  SharedState::of(t).wait(t, in.as<int64_t>(), SharedState::kTdm);
}

// The descriptors of one group and the buffers of another pair up.
void lower_copy(Lowering& l, const ir::Op& op, Handler run, ir::GroupName desc_group,
                ir::GroupName memory_group) {
  auto* c = l.make<Copies>();
  const auto descs = op.group(desc_group), memories = op.group(memory_group);
  if (descs.empty() || descs.size() != memories.size())
    return l.fail(op, std::to_string(descs.size()) + " descriptors for " + std::to_string(memories.size()) +
                          " buffers");
  c->rows = Lowering::operand_index(op, "rows");
  c->barrier = Lowering::operand_index(op, "barrier");
  c->arrivals = l.code().num_warps;  // each warp moves its part
  c->pred = Lowering::operand_index(op, "pred");
  if (c->rows >= 0) {
    c->indices = Lowering::operand_index(op, "column");
    c->first = 1;
    c->count = c->indices >= 0 ? 1 : 0;
  } else {
    c->indices = Lowering::operand_index(op, "indices");
    c->count = static_cast<int>(op.group("indices").size());
  }
  for (size_t i = 0; i < descs.size(); i++) {
    const ir::Value& memory = *memories[i].value;
    const MemView* view = mem_view(l, memory, op);
    if (!view) return;
    Piece p{block_type(l, *descs[i].value, memory.type), l.make<MemPlan>(*view),
            Lowering::operand_index(op, desc_group) + static_cast<int>(i),
            Lowering::operand_index(op, memory_group) + static_cast<int>(i)};
    if (!p.block.known || static_cast<int64_t>(num::size_of(p.block.type)) != view->size)
      return l.fail(op, "a descriptor whose elements are not those of the buffer");
    if (c->rows < 0 && c->count != 0 && c->count != static_cast<int>(p.block.shape.size()))
      return l.fail(op, std::to_string(c->count) + " indices for a descriptor of rank " +
                            std::to_string(p.block.shape.size()));
    if (c->rows >= 0) {
      const TileType& rows = *l.type_of(op.operand(c->rows));
      if (p.block.shape.size() != 2 || view->shape.size() != 2 || !view->leading.empty() ||
          rows.n != view->shape[0] || !num::is_integer(rows.element))
        return l.fail(op, "rows are moved with descriptors of rank 2, one for each row of the buffer");
      p.block.shape = {1, view->shape[1]};
    } else {
      int64_t elements = 1;
      for (int64_t d : p.block.shape) elements *= d;
      if (elements != view->total())
        return l.fail(op, "the descriptor's block has " + std::to_string(elements) +
                              " elements, the buffer " + std::to_string(view->total()));
    }
    c->pieces.push_back(std::move(p));
  }
  l.emit(run, op, {}, slots_of(l, op.operand_uses), c);
}

// ---- descriptors

struct Update {
  int add, bounds, pred;  // first operands; -1: none
  bool clamp;
  int64_t element_bytes;
  int rank;
};

const Instr* run_update(Task& t, const Instr& in, const Update& u) {
  TensorDescriptor desc;
  if (!tensor_desc(t, in, in.operand(0), desc)) return nullptr;
  for (int d = 0; d < u.rank; d++) {
    if (u.add >= 0) move(desc, d, t.bits(in.operand(u.add + d)), u.element_bytes, u.clamp);
    if (u.bounds >= 0) desc.shape[d] = t.bits(in.operand(u.bounds + d));
  }
  if (u.pred >= 0) desc.off = t.bits(in.operand(u.pred)) == 0;
  t.new_object<TensorDescriptor>(in.result()) = desc;
  return next(in);
}

// ---- shared memory to pointers

void run_read(Task& t, const Instr& in, const MemPlan& plan) {
  SharedState::of(t);
  plan.read(t.new_dense(in.result()), SharedState::of(t).arena(), mem_desc(t, in.operand(0)));
}

}  // namespace

void lower_amd_tdm_load(Lowering& l, const ir::Op& op) {
  if (op.group("descs").empty())
    lower_copy(l, op, handler<run_tdm_load>, "desc", "dst");
  else
    lower_copy(l, op, handler<run_tdm_load>, "descs", "dsts");
}
void lower_amd_tdm_store(Lowering& l, const ir::Op& op) {
  lower_copy(l, op, handler<run_tdm_store>, "desc", "src");
}
void lower_amd_tdm_gather(Lowering& l, const ir::Op& op) {
  lower_copy(l, op, handler<run_tdm_load>, "desc", "dst");
}
void lower_amd_tdm_scatter(Lowering& l, const ir::Op& op) {
  lower_copy(l, op, handler<run_tdm_store>, "desc", "src");
}

void lower_amd_tdm_wait(Lowering& l, const ir::Op& op) {
  l.emit<run_tdm_wait>(op, {}, {}, l.number(op, "num"));
}
// Counts instructions of the machine, of which there are none here: it waits for everything.
void lower_amd_tdm_wait_all(Lowering& l, const ir::Op& op) {
  l.emit<run_tdm_wait>(op, {}, {}, l.make<int64_t>(0));
}

void lower_amd_update_descriptor(Lowering& l, const ir::Op& op) {
  const BlockType block = block_type(l, *op.operand_of("desc"), nullptr);
  const int rank = static_cast<int>(block.shape.size());
  const auto add = op.group("add_offsets"), bounds = op.group("set_bounds");
  if (!block.known || (!add.empty() && static_cast<int>(add.size()) != rank) ||
      (!bounds.empty() && static_cast<int>(bounds.size()) != rank))
    return l.fail(op, "offsets or bounds that are not one a dimension of the descriptor");
  l.emit<run_update>(
      op,
      l.make<Update>(Lowering::operand_index(op, "add_offsets"), Lowering::operand_index(op, "set_bounds"),
                     Lowering::operand_index(op, "pred"), op.attr("clamp_bounds") != nullptr,
                     static_cast<int64_t>(num::size_of(block.type)), rank));
}

// Stored when issued; waits have nothing left to do.
void lower_amd_async_copy_local_to_global(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of("src"), op);
  if (!view) return;
  std::vector<int64_t> shape = view->whole_shape();
  if (l.type_of(op.operand_of("dst"))->shape != shape)
    return l.fail(op, "pointers that are not one an element of the buffer");
  const Slot tile = l.new_slot(l.tile_type(view->element, std::move(shape)));
  l.emit<run_read>(op, {tile}, {l.slot(op.operand_of("src"))}, l.make<MemPlan>(*view));
  emit_store(l, op, l.slot(op.operand_of("dst")), tile, optional_slot(l, op.operand_of("mask")));
}

}  // namespace triton_runner::tile
