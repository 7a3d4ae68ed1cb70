// Shared memory of other blocks of a cluster, and bulk stores.
//
// A cluster of num_ctas blocks runs as one program on the whole tile: its buffers are there, whichever block
// has them. Where the blocks of a cluster are programs of the grid ("ttg.cluster-dim-x"), a program reaches
// its own memory only.
#include <algorithm>
#include <array>
#include <cstring>

#include "lowering.h"
#include "machine/shared_state.h"

namespace triton_runner::tile {
namespace {

struct Cluster {
  std::array<int64_t, 3> dims{1, 1, 1};
};

struct Remote {
  Cluster cluster;
  int rank;             // operand
  const MemPlan* from;  // null: a register tile
  const MemPlan* to;
  int source, destination, barrier;  // operands; barrier -1: none
  int64_t barrier_bytes;             // that a block's barrier counts
};

// The rank names this program. False: it trapped.
bool own_rank(Task& t, const Instr& in, const Cluster& c, Slot rank) {
  const auto& id = t.program->id;
  const int64_t mine = id[0] % c.dims[0] + c.dims[0] * (id[1] % c.dims[1] + c.dims[1] * (id[2] % c.dims[2]));
  if (t.bits(rank) == mine) return true;
  t.trap(in, exec::TrapKind::kUnsupported,
         "shared memory of block " + std::to_string(t.bits(rank)) + " of the cluster, from block " +
             std::to_string(mine) + ": the tile engine runs the blocks of a cluster one after the other");
  return false;
}

const Instr* run_map(Task& t, const Instr& in) {
  if (!own_rank(t, in, in.as<Cluster>(), in.operand(1))) return nullptr;
  const MemDesc d = mem_desc(t, in.operand(0));
  t.new_object<MemDesc>(in.result()) = d;
  return next(in);
}

// Sends elements to a buffer: at once, or on their way until somebody waits for the barrier.
const Instr* send(Task& t, const Instr& in, const Remote& r) {
  SharedState& state = SharedState::of(t);
  const MemDesc to = mem_desc(t, in.operand(r.destination));
  const void* tile = r.from ? nullptr : t.dense(in.operand(r.source));
  Buffer* data = t.worker->pool->allocate(r.to->bytes());
  if (r.from) {
    r.from->read(data->data(), SharedState::of(t).arena(t), mem_desc(t, in.operand(r.source)));
  } else {
    std::memcpy(data->data(), tile, r.to->bytes());
  }
  if (r.barrier < 0) {
    r.to->write(SharedState::of(t).arena(t), to, data->data());
    t.worker->pool->release(data);
    return next(in);
  }
  const uint32_t barrier = address_of(mem_desc(t, in.operand(r.barrier)));
  if (!state.barrier(t, barrier)) {
    t.worker->pool->release(data);
    return t.trap(in, exec::TrapKind::kInvalid,
                  "the store's mbarrier was not initialised, was invalidated, or was overwritten");
  }
  state.copy_through_barrier(t, barrier, {data, r.to, to}, r.barrier_bytes);
  return next(in);
}

const Instr* run_remote(Task& t, const Instr& in) {
  const auto& r = in.as<Remote>();
  if (r.rank >= 0 && !own_rank(t, in, r.cluster, in.operand(r.rank))) return nullptr;
  return send(t, in, r);
}

struct Bulk {
  int64_t bytes;  // of the buffer
};

const Instr* run_async_store(Task& t, const Instr& in) {
  SharedState::of(t);
  const MemDesc from = mem_desc(t, in.operand(0));
  const auto to = static_cast<uint64_t>(t.bits(in.operand(1)));
  const int64_t bytes = t.bits(in.operand(2));
  if (bytes < 0 || bytes > in.as<Bulk>().bytes)
    return t.trap(in, exec::TrapKind::kOutOfBounds,
                  "a store of " + std::to_string(bytes) + " bytes from a buffer of " +
                      std::to_string(in.as<Bulk>().bytes));
  if (bytes && !t.worker->memory.writable(to, bytes))
    return t.note_access(in, to, static_cast<uint32_t>(bytes), true, -1, t.type(in.operand(1))) ? next(in)
                                                                                                : nullptr;
  std::memcpy(reinterpret_cast<void*>(to), SharedState::of(t).arena(t) + from.base, bytes);
  t.worker->launch->made_progress();
  return next(in);
}

bool cluster_of(Lowering& l, const ir::Op& op, Cluster& c) {
  if (l.code().num_ctas > 1)
    return l.error(op, "the memory of one block of a cluster of " + std::to_string(l.code().num_ctas) +
                           ", which the tile engine runs as one program on the whole tile, is not supported"),
           false;
  const ir::Op* module = &op;
  while (module->block && module->block->region->parent) module = module->block->region->parent;
  const char* const kKeys[] = {"ttg.cluster-dim-x", "ttg.cluster-dim-y", "ttg.cluster-dim-z"};
  for (int d = 0; d < 3; d++) c.dims[d] = std::max<int64_t>(1, module->int_attr(kKeys[d], 1));
  return true;
}

// From one buffer or tile to another, of the block of that rank where the op names one.
void lower_send(Lowering& l, const ir::Op& op) {
  auto* r = l.make<Remote>();
  const ir::Value &source = *op.operand_of("src"), &to = *op.operand_of("dst");
  const MemView* view = mem_view(l, to, op);
  if (!view || (op.operand_of("rank") && !cluster_of(l, op, r->cluster))) return;
  r->to = l.make<MemPlan>(*view);
  r->barrier_bytes = r->to->bytes() / view->splits();
  if (source.type->kind == ir::TypeKind::kTensor) {
    const TileType& tile = *l.type_of(l.slot(&source));
    if (tile.bytes != r->to->bytes() || tile.element != view->element)
      return l.error(op, "a tensor that does not fit the buffer");
    r->from = nullptr;
  } else {
    const MemView* from = mem_view(l, source, op);
    if (!from) return;
    if (from->total() != view->total() || from->element != view->element)
      return l.error(op, "buffers of different sizes or types");
    r->from = l.make<MemPlan>(*from);
  }
  r->rank = Lowering::operand_index(op, "rank");
  r->source = Lowering::operand_index(op, "src");
  r->destination = Lowering::operand_index(op, "dst");
  r->barrier = Lowering::operand_index(op, "barrier");
  l.emit(run_remote, op, r);
}

}  // namespace

void lower_map_to_remote_buffer(Lowering& l, const ir::Op& op) {
  auto* cluster = l.make<Cluster>();
  if (cluster_of(l, op, *cluster)) l.emit(run_map, op, cluster);
}

void lower_remote_shmem_store(Lowering& l, const ir::Op& op) { lower_send(l, op); }
void lower_async_remote_shmem_store(Lowering& l, const ir::Op& op) { lower_send(l, op); }
void lower_async_remote_shmem_copy(Lowering& l, const ir::Op& op) { lower_send(l, op); }
void lower_async_shared_store(Lowering& l, const ir::Op& op) { lower_send(l, op); }

// The first bytes of a buffer, as they lie.
void lower_async_store(Lowering& l, const ir::Op& op) {
  const MemView* view = mem_view(l, *op.operand_of("src"), op);
  if (!view) return;
  int64_t bytes = view->buffer_bytes;
  for (int64_t d : view->leading) bytes *= d;
  l.emit(run_async_store, op, l.make<Bulk>(bytes));
}

}  // namespace triton_runner::tile
