// Lowers ops on shared memory of other blocks of a cluster, and on their barrier.
//
// If the blocks of a cluster are programs of the grid ("ttg.cluster-dim-x"), they run side by side on one
// worker (schedule.cpp), and a program reaches the memory of each by its rank. A cluster of num_ctas blocks is
// one program on the whole tile: its buffers are there, whichever block has them, and to name one block's
// memory means nothing.
#include "machine/cluster.h"

#include <algorithm>
#include <cstring>

#include "machine/shared_state.h"
#include "machine/threads.h"

namespace triton_runner::tile {

using enum ir::Effect;

namespace {

struct Remote {
  int rank;             // operand
  const MemPlan* from;  // null: a register tile
  const MemPlan* to;
  int source, destination, barrier;  // operands; barrier -1: none
  int64_t barrier_bytes;             // that a block's barrier counts
};

const Instr* no_block(Task& t, const Instr& in, int64_t rank) {
  const size_t blocks = t.program->cluster ? t.program->cluster->blocks.size() : 1;
  return t.trap(
      in, exec::TrapKind::kOutOfBounds,
      "shared memory of block " + std::to_string(rank) + ": the cluster has " + std::to_string(blocks));
}

// Its memory is gone when its threads have ended. False: it trapped.
bool is_there(Task& t, const Instr& in, const Program& block) {
  if (std::ranges::any_of(block.tasks, [](const Task& k) { return k.outcome != Outcome::kFinished; }))
    return true;
  return t.trap(
      in, exec::TrapKind::kInvalid,
      "shared memory of block " + std::to_string(block.rank) +
          " of the cluster, which has ended: it has to wait for this one (a barrier of the cluster)");
}

const Instr* run_map(Task& t, const Instr& in) {
  const int64_t rank = t.bits(in.operand(1));
  if (!block_of_rank(t, rank)) return no_block(t, in, rank);
  MemDesc d = mem_desc(t, in.operand(0));
  if (t.program->cluster) d.block = static_cast<uint32_t>(1 + rank);
  t.new_object<MemDesc>(in.result()) = d;
  return next(in);
}

// Sends elements to a buffer: at once, or on their way until somebody waits for the barrier.
const Instr* run_send(Task& t, const Instr& in, const Remote& r) {
  const int64_t rank = r.rank < 0 ? t.program->rank : t.bits(in.operand(r.rank));
  Program* block = block_of_rank(t, rank);
  if (!block) return no_block(t, in, rank);
  if (!is_there(t, in, *block)) return nullptr;
  SharedState& state = SharedState::of(*block);
  const MemDesc to = mem_desc(t, in.operand(r.destination));
  const void* tile = r.from ? nullptr : t.dense(in.operand(r.source));
  Buffer* data = t.worker->pool->allocate(r.to->bytes());
  if (r.from) {
    r.from->read(data->data(), SharedState::of(t).arena(), mem_desc(t, in.operand(r.source)));
  } else {
    std::memcpy(data->data(), tile, r.to->bytes());
  }
  if (r.barrier < 0) {
    r.to->write(state.arena(), to, data->data());
    t.worker->pool->release(data);
    return next(in);
  }
  const uint32_t barrier = address_of(mem_desc(t, in.operand(r.barrier)));
  if (!state.barrier(barrier)) {
    t.worker->pool->release(data);
    return no_barrier(t, in, "the store's mbarrier");
  }
  state.copy_through_barrier(barrier, {data, r.to, to}, r.barrier_bytes);
  return next(in);
}

void run_size(Task& t, const Instr& in) { t.set_uniform(in.result(), t.code->cluster_size()); }

void run_rank(Task& t, const Instr& in) { t.set_uniform(in.result(), t.program->rank); }

// ---- the barrier of the cluster: each thread arrives, and waits until all others have as often

struct Sync {
  uint32_t arriving;  // threads that the op stands for: all of the block, or 0: those of the task
  uint32_t block;     // threads of a block
};

uint32_t alive_in(const Cluster& cluster, const Sync& s) {
  return s.block * static_cast<uint32_t>(std::ranges::count_if(cluster.blocks, [](const Program* p) {
           return p->tasks.front().outcome != Outcome::kFinished;
         }));
}

void run_cluster_arrive(Task& t, const Instr&, const Sync& s) {
  Cluster& cluster = *t.program->cluster;
  t.cluster_ticket = cluster.barrier.ticket();
  const auto threads =
      s.arriving ? s.arriving : static_cast<uint32_t>(SharedState::of(t).named.threads_of(t));
  cluster.barrier.arrive(threads, alive_in(cluster, s));
}

const Instr* run_cluster_wait(Task& t, const Instr& in, const Sync& s) {
  Cluster& cluster = *t.program->cluster;
  cluster.barrier.settle(alive_in(cluster, s));
  return cluster.barrier.is_open(t.cluster_ticket) ? next(in) : t.block(in);
}

// Outside of a warp specialisation the compiler has the warps of all partitions take part.
void lower_cluster(Lowering& l, const ir::Op& op, std::initializer_list<Handler> steps) {
  if (l.code().cluster_size() == 1) return;
  const auto threads = static_cast<uint32_t>(warps_of_block(l.code(), op) * l.code().warp_size);
  const Sync* sync = l.make<Sync>(in_partition(op) ? 0 : threads, threads);
  for (Handler step : steps) l.emit(step, op, sync);
}

// False: one of its blocks' memory was named where they are one program.
bool names_blocks(Lowering& l, const ir::Op& op) {
  if (l.code().num_ctas == 1) return true;
  l.fail(op, "the memory of one block of a cluster of " + std::to_string(l.code().num_ctas) +
                 ", which the tile engine runs as one program on the whole tile, is not supported");
  return false;
}

// From one buffer or tile to another, of the block of that rank where the op names one.
void lower_send(Lowering& l, const ir::Op& op) {
  auto* r = l.make<Remote>();
  const ir::Value &source = *op.operand_of("src"), &to = *op.operand_of("dst");
  const MemView* view = mem_view(l, to, op);
  if (!view || (op.operand_of("rank") && !names_blocks(l, op))) return;
  r->to = l.make<MemPlan>(*view);
  r->barrier_bytes = r->to->bytes() / view->splits();
  if (source.type->kind == ir::TypeKind::kTensor) {
    const TileType& tile = *l.type_of(&source);
    if (tile.bytes != r->to->bytes() || tile.element != view->element)
      return l.fail(op, "a tensor that does not fit the buffer");
    r->from = nullptr;
  } else {
    const MemView* from = mem_view(l, source, op);
    if (!from) return;
    if (from->total() != view->total() || from->element != view->element)
      return l.fail(op, "buffers of different sizes or types");
    r->from = l.make<MemPlan>(*from);
  }
  r->rank = Lowering::operand_index(op, "rank");
  r->source = Lowering::operand_index(op, "src");
  r->destination = Lowering::operand_index(op, "dst");
  r->barrier = Lowering::operand_index(op, "barrier");
  l.emit<run_send>(op, r);
}

}  // namespace

Program* block_of_rank(const Task& t, int64_t rank) {
  const Cluster* cluster = t.program->cluster;
  if (!cluster) return rank == 0 ? t.program : nullptr;
  const bool known = rank >= 0 && rank < static_cast<int64_t>(cluster->blocks.size());
  return known ? cluster->blocks[static_cast<size_t>(rank)] : nullptr;
}

std::vector<Program*> tensor_blocks(const Task& t) {
  if (!are_paired(*t.code)) return {t.program};
  if (t.program->rank % 2 != 0) return {};
  return {t.program, t.program->cluster->blocks[static_cast<size_t>(t.program->rank) + 1]};
}

bool asks_for_cluster(const Task& t) { return t.program->rank % t.code->cluster[0] == 0; }

std::vector<Program*> blocks_reached(Task& t, const Instr& in) {
  if (!t.program->cluster) return {t.program};
  auto operand = [&](ir::GroupName group) {
    return t.bits(in.operand(static_cast<uint32_t>(Lowering::operand_index(*in.op, group))));
  };
  if (in.op->operand_of("rank")) {
    Program* block = block_of_rank(t, operand("rank"));
    return block ? std::vector{block} : std::vector<Program*>{};
  }
  if (in.op->kind == ir::OpKind::kAsyncClcTryCancel)  // one block asks, and all get the answer
    return asks_for_cluster(t) ? t.program->cluster->blocks : std::vector<Program*>{};
  if (!in.op->operand_of("multicast")) return {t.program};
  std::vector<Program*> out;
  for (Program* block : t.program->cluster->blocks)
    if (operand("multicast") >> block->rank & 1) out.push_back(block);
  return out;
}

void lower_map_to_remote_buffer(Lowering& l, const ir::Op& op) {
  if (names_blocks(l, op)) l.emit(run_map, op);
}

void lower_cluster_rank(Lowering& l, const ir::Op& op) {
  if (names_blocks(l, op)) l.emit<run_rank>(op);
}

void lower_cluster_size(Lowering& l, const ir::Op& op) {
  if (names_blocks(l, op)) l.emit<run_size>(op);
}

void lower_cluster_arrive(Lowering& l, const ir::Op& op) {
  lower_cluster(l, op, {handler<run_cluster_arrive>});
}
void lower_cluster_wait(Lowering& l, const ir::Op& op) { lower_cluster(l, op, {handler<run_cluster_wait>}); }
void lower_cluster_barrier(Lowering& l, const ir::Op& op) {
  lower_cluster(l, op, {handler<run_cluster_arrive>, handler<run_cluster_wait>});
}

namespace {

// Returns whether the op signals an mbarrier of another block of the cluster.
bool signals_others(const ir::Op& op) {
  switch (op.kind) {
    case ir::OpKind::kMapToRemoteBuffer:
    case ir::OpKind::kAsyncClcTryCancel:
      return true;
    case ir::OpKind::kAsyncTMACopyGlobalToLocal:
      return op.operand_of("multicast") != nullptr;
    case ir::OpKind::kTCGen5Commit:
      return !op.group("descs").empty();
    default:
      break;
  }
  for (const ir::Region* region : op.regions)
    for (const ir::Block* b = region->first; b; b = b->next)
      for (const ir::Op* inner = b->first; inner; inner = inner->next)
        if (signals_others(*inner)) return true;
  return false;
}

}  // namespace

// The compiler of clusters whose blocks are programs puts a barrier of the cluster after the last mbarrier that the kernel's
// first block sets up, where one of another block is signalled, or products are of pairs of blocks (after TTGIR).
void lower_meeting(Lowering& l, const ir::Op& init) {
  const ir::Op* func = init.block->region->parent;
  if (l.code().cluster_size() == 1 || !func || func->kind != ir::OpKind::kFunc ||
      init.block != func->region(0)->first)
    return;
  for (const ir::Op* later = init.next; later; later = later->next)
    if (later->kind == ir::OpKind::kInitBarrier) return;
  if (l.code().two_ctas || signals_others(*func)) lower_cluster_barrier(l, init);
}

void lower_remote_shmem_store(Lowering& l, const ir::Op& op) { lower_send(l, op); }
void lower_async_remote_shmem_store(Lowering& l, const ir::Op& op) { lower_send(l, op); }
void lower_async_remote_shmem_copy(Lowering& l, const ir::Op& op) { lower_send(l, op); }
void lower_async_shared_store(Lowering& l, const ir::Op& op) { lower_send(l, op); }

}  // namespace triton_runner::tile
