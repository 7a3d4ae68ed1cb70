// Lowers mbarriers and ops that only order memory (ttng.*_barrier, fences, cluster barriers; amdg's barriers
// are the same idea).
#include <algorithm>
#include <bit>

#include "lowering.h"
#include "machine/cluster.h"
#include "machine/nvidia.h"
#include "machine/shared_state.h"
#include "machine/threads.h"

namespace triton_runner::tile {
namespace {

const Instr* no_barrier(Task& t, const Instr& in) {
  return no_barrier(t, in, "there is no mbarrier at this place: it");
}

// The barrier that an operand names, of this block of the cluster or another; null: there is none.
Mbarrier* barrier_at(Task& t, Slot operand) {
  const MemDesc d = mem_desc(t, operand);
  Program& block = block_of(t, d);
  return SharedState::of(block).barrier(address_of(d));
}

struct Count {
  int64_t n;
  int pred = -1;  // operand
};

bool off(Task& t, const Instr& in, int pred) { return pred >= 0 && t.bits(in.operand(pred)) == 0; }

void run_init_barrier(Task& t, const Instr& in) {
  SharedState::of(t).init_barrier(address_of(mem_desc(t, in.operand(0))), in.as<Count>().n);
}

void run_inval_barrier(Task& t, const Instr& in) {
  if (Mbarrier* b = SharedState::of(t).barrier(address_of(mem_desc(t, in.operand(0))))) b->mark = 0;
}

const Instr* run_barrier_expect(Task& t, const Instr& in, const Count& c) {
  if (off(t, in, c.pred)) return next(in);
  Mbarrier* b = barrier_at(t, in.operand(0));
  if (!b) return no_barrier(t, in);
  return arrive(t, in, *b, {.expect_tx = c.n});
}

const Instr* run_arrive_barrier(Task& t, const Instr& in, const Count& c) {
  if (off(t, in, c.pred)) return next(in);
  Mbarrier* b = barrier_at(t, in.operand(0));
  if (!b) return no_barrier(t, in);
  const auto phase = static_cast<int64_t>(b->phase);
  if (in.num_results) t.set_uniform(in.result(), phase);  // amdg.arrive_barrier gives the phase it arrived in
  return arrive(t, in, *b, {.count = c.n});
}

// Each thread of the partition arrives.
const Instr* run_warp_barrier_arrive(Task& t, const Instr& in) {
  if (off(t, in, in.as<Count>().pred)) return next(in);
  SharedState& state = SharedState::of(t);
  Mbarrier* b = barrier_at(t, in.operand(0));
  if (!b) return no_barrier(t, in);
  return arrive(t, in, *b, {.count = in.as<Count>().n * state.named.threads_of(t)});
}

const Instr* run_wait_barrier(Task& t, const Instr& in) {
  if (off(t, in, in.as<Count>().pred)) return next(in);
  SharedState& state = SharedState::of(t);
  const uint32_t address = address_of(mem_desc(t, in.operand(0)));
  if (!state.barrier(address)) return no_barrier(t, in);
  // Waiting for a parity: passes once the phase of that parity has ended.
  return state.end_phase(address, t.bits(in.operand(1)) & 1) ? next(in) : t.block(in);
}

const Instr* run_read_phase(Task& t, const Instr& in) {
  SharedState& state = SharedState::of(t);
  const uint32_t address = address_of(mem_desc(t, in.operand(0)));
  state.complete_copies(address);
  Mbarrier* b = state.barrier(address);
  if (!b) return no_barrier(t, in);
  t.set_uniform(in.result(), static_cast<int64_t>(b->phase));
  return next(in);
}

struct HandOver {
  int arrivals;
  bool increment;
};

const Instr* run_copies_arrive(Task& t, const Instr& in, const HandOver& h) {
  SharedState& state = SharedState::of(t);
  const uint32_t address = address_of(mem_desc(t, in.operand(0)));
  Mbarrier* b = state.barrier(address);
  if (!b) return no_barrier(t, in);
  if (h.increment) b->add_pending(static_cast<uint32_t>(h.arrivals));
  state.hand_over(t, address, h.arrivals);
  return next(in);
}

void with_count(Lowering& l, const ir::Op& op, Handler run, std::string_view key, int64_t otherwise = 1) {
  l.emit(run, op, l.make<Count>(op.int_attr(key, otherwise), Lowering::operand_index(op, "pred")));
}

// ---- named barriers: a number and how many threads meet there

const Instr* run_named(Task& t, const Instr& in, const bool& waits) {
  NamedBarriers& named = SharedState::of(t).named;
  const int64_t id = t.bits(in.operand(0)), threads = t.bits(in.operand(1));
  if (!waits) {
    named.arrive(id, threads, named.threads_of(t));
    return next(in);
  }
  return named.wait(t, id, threads) ? next(in) : t.block(in);
}

}  // namespace

bool arrive_all(Task& t, const Instr& in, const Barriers& b, std::span<Program* const> blocks) {
  for (int i = 0; i < b.count; i++) {
    if (b.first_pred >= 0 && t.bits(in.operand(b.first_pred + i)) == 0) continue;
    const MemDesc d = mem_desc(t, in.operand(b.first + i));
    for (Program* block : blocks) {
      Mbarrier* barrier = SharedState::of(*block).barrier(address_of(d));
      if (!barrier) return no_barrier(t, in);
      if (!arrive(t, in, *barrier, {.count = b.arrivals})) return false;
    }
  }
  return true;
}

int multicast_arrivals(Lowering& l, const ir::Op& op, std::span<const ir::Value* const> buffers) {
  const int step = l.code().two_ctas ? 2 : 1;  // the first block of a pair issues
  std::vector<const layout::CgaBases*> shares;
  for (const ir::Value* v : buffers) {
    const MemView* view = v->type->kind == ir::TypeKind::kMemDesc ? mem_view(l, *v, op) : nullptr;
    if (view && !view->tensor_memory) shares.push_back(&view->encoding.cga);
  }
  int arrivals = 0;
  for (int block = 0; block < l.code().num_ctas; block += step)
    arrivals += std::ranges::any_of(shares, [&](const layout::CgaBases* bases) {
      for (size_t bit = 0; bit < bases->size(); bit++)
        if ((block >> bit & 1) && !is_copy((*bases)[bit])) return false;
      return true;
    });
  return std::max(1, arrivals);
}

void find_operands(Lowering& l, const ir::Op& op, Gen5& g) {
  if (l.code().cluster_size() > 1 && (op.attr("two_ctas") != nullptr) != l.code().two_ctas)
    l.fail(op, "a product of a pair of blocks in a module whose products are not, or the other way round");
  g.d_operand = Lowering::operand_index(op, "d");
  g.use_d = Lowering::operand_index(op, "use_d");
  g.pred = Lowering::operand_index(op, "pred");
  g.barriers = {Lowering::operand_index(op, "barriers"), Lowering::operand_index(op, "barrier_preds"),
                static_cast<int>(op.group("barriers").size())};
  const ir::Value* const shared[] = {op.operand_of("a"), op.operand_of("b")};
  if (op.attr("multicast")) g.barriers.arrivals = multicast_arrivals(l, op, shared);
}

void lower_init_barrier(Lowering& l, const ir::Op& op) {
  const int64_t count = op.int_attr("count", 1);
  if (count < 1 || count > Mbarrier::kMost)
    return l.fail(op, "an mbarrier of " + std::to_string(count) + " arrivals");
  with_count(l, op, handler<run_init_barrier>, "count");
  lower_meeting(l, op);
}
void lower_inval_barrier(Lowering& l, const ir::Op& op) { l.emit<run_inval_barrier>(op); }
void lower_barrier_expect(Lowering& l, const ir::Op& op) {
  with_count(l, op, handler<run_barrier_expect>, "size", 0);
}
// Each thread of the partition arrives, and not one for all.
void lower_warp_barrier_arrive(Lowering& l, const ir::Op& op) {
  with_count(l, op, run_warp_barrier_arrive, "count");
}
void lower_arrive_barrier(Lowering& l, const ir::Op& op) {
  if (op.attr("perThread")) return lower_warp_barrier_arrive(l, op);
  // The blocks whose numbers differ in these bits tell each other: one program here, with one mbarrier.
  const auto told = static_cast<uint64_t>(op.int_attr("multicastCTA", 0) & (l.code().num_ctas - 1));
  l.emit<run_arrive_barrier>(
      op, l.make<Count>(op.int_attr("count", 1) << std::popcount(told), Lowering::operand_index(op, "pred")));
}
void lower_wait_barrier(Lowering& l, const ir::Op& op) { with_count(l, op, run_wait_barrier, ""); }
void lower_amd_arrive_barrier(Lowering& l, const ir::Op& op) {
  with_count(l, op, handler<run_arrive_barrier>, "count");
}
void lower_amd_wait_barrier(Lowering& l, const ir::Op& op) { with_count(l, op, run_wait_barrier, ""); }
void lower_amd_read_barrier_phase(Lowering& l, const ir::Op& op) { l.emit(run_read_phase, op); }

void lower_async_copy_mbarrier_arrive(Lowering& l, const ir::Op& op) {
  // Every thread arrives; with an increment the barrier counts them before, and the phase only lasts longer.
  const bool increment = op.attr("noIncrement") == nullptr;  // a unit attribute
  l.emit<run_copies_arrive>(op, l.make<HandOver>(l.code().num_warps * l.code().warp_size, increment));
}

void lower_arrive_barrier_named(Lowering& l, const ir::Op& op) { l.emit<run_named>(op, l.make<bool>(false)); }
void lower_wait_barrier_named(Lowering& l, const ir::Op& op) { l.emit<run_named>(op, l.make<bool>(true)); }

// Its handler does nothing: memory here is in order.
bool race_fence_async_shared(RaceRule& r) { return r.fence(), true; }
bool race_fence(RaceRule& r) { return r.fence_memory(), true; }

}  // namespace triton_runner::tile
