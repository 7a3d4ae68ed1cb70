// Executes barriers of a block, of a cluster and of a warp. mbarriers are async/mbarrier.cpp.
#include "ops/barrier.h"

#include "check/count.h"
#include "state/divergence.h"
#include "state/refuse.h"

namespace triton_runner::simt {
namespace {

// a: the barrier, b: how many threads (none: all).
bool barrier_operands(Exec& x, const Operands& in, uint32_t* barrier, uint32_t* expected) {
  const uint32_t lane = first_on(x);
  *barrier = x.reg<uint32_t>(in.a)[lane];
  *expected = in.b == kNoRegister ? 0 : x.reg<uint32_t>(in.b)[lane];
  if (*barrier >= x.cta->barriers.size())
    return refuse(x, in, exec::TrapKind::kInvalid,
                  "barrier " + std::to_string(*barrier) + ": a block has 16, numbered from 0", lane);
  if (*expected % x.code().width || *expected > x.code().threads)
    return refuse(x, in, exec::TrapKind::kInvalid,
                  "a barrier for " + std::to_string(*expected) + " threads: a multiple of " +
                      std::to_string(x.code().width) + " is wanted, at most the " +
                      std::to_string(x.code().threads) + " of the block",
                  lane);
  if (Counting* counting = x.worker->counting)
    for (uint32_t i : x.lanes()) counting->barrier(x, in, i, exec::TraceEvent::kBarrier, *barrier, *expected);
  return true;
}

// d: the result, c: the predicate (small: 0xff to negate it), imm: a Vote.
void write_reduction(const Lanes& l, const Operands& in, uint32_t count, uint32_t all) {
  for (uint32_t i = 0; i < l.count; ++i) {
    if (!l.on(i)) continue;
    if (in.imm == kCount)
      l.reg<uint32_t>(in.d)[i] = count;
    else
      l.reg<int8_t>(in.d)[i] = (in.imm == kAll ? count == all : count > 0) ? -1 : 0;
  }
}

// Threads of the cluster that have not ended.
uint32_t alive_in(const Cluster& cluster) {
  uint32_t n = 0;
  for (const auto& cta : cluster.ctas) n += cta->alive_count;
  return n;
}

}  // namespace

void bar_sync(Exec& x, const Operands& in) {
  uint32_t barrier = 0, expected = 0;
  if (!barrier_operands(x, in, &barrier, &expected)) return;
  if (arrive(*x.cta, barrier, count_on(x), expected)) {
    if (x.cta->paths.size() > 1) x.leave();
    return;
  }
  park(x, instr_of(in), PathState::kBarrier);
  x.path->barrier = barrier;
}

void bar_arrive(Exec& x, const Operands& in) {
  uint32_t barrier = 0, expected = 0;
  if (!barrier_operands(x, in, &barrier, &expected)) return;
  if (arrive(*x.cta, barrier, count_on(x), expected)) x.leave();
}

void bar_red(Exec& x, const Operands& in) {
  Cta& cta = *x.cta;
  uint32_t barrier = 0, expected = 0;
  if (!barrier_operands(x, in, &barrier, &expected)) return;
  uint32_t holds = 0;
  for (uint32_t i = 0; i < x.count; ++i)
    holds += x.on(i) && (static_cast<uint8_t>(x.reg<int8_t>(in.c)[i]) ^ in.small);
  Barrier& b = cta.barriers[barrier];
  b.red_count += holds;
  const uint32_t count = b.red_count, all = expected ? expected : cta.alive_count;
  std::vector<std::pair<Path*, const Instr*>> waiting;
  for (auto& s : cta.paths)
    if (s->state == PathState::kBarrier && s->barrier == barrier) waiting.push_back({s.get(), s->pc});
  if (!arrive(cta, barrier, count_on(x), expected)) {
    park(x, instr_of(in), PathState::kBarrier);
    x.path->barrier = barrier;
    return;
  }
  write_reduction(x, in, count, all);
  for (auto [s, pc] : waiting) {
    Lanes theirs{cta.regs, s->first, s->count, s->full ? nullptr : s->mask.data()};
    if (pc->run == handler<bar_red>) write_reduction(theirs, *pc, count, all);
  }
  if (cta.paths.size() > 1) x.leave();
}

void cluster_arrive(Exec& x, const Operands&) {
  Cluster& cluster = *x.cta->cluster;
  for (uint32_t i : x.lanes()) x.cta->cluster_tickets[x.first + i] = cluster.barrier.ticket();
  if (cluster.barrier.arrive(count_on(x), alive_in(cluster))) ++cluster.events;
}

void cluster_wait(Exec& x, const Operands& in) {
  Cluster& cluster = *x.cta->cluster;
  if (cluster.barrier.settle(alive_in(cluster))) ++cluster.events;
  for (uint32_t i : x.lanes())
    if (!cluster.barrier.is_open(x.cta->cluster_tickets[x.first + i])) return x.retry_later(instr_of(in));
}

void warp_sync(Exec& x, const Operands& in) {
  if (!x.mask) return;
  const uint64_t members = in.a == kNoRegister ? ~uint64_t{0} : x.reg<uint32_t>(in.a)[first_on(x)];
  x.converged(instr_of(in), members);
}

void nothing(Lanes&, const Operands&) {}

}  // namespace triton_runner::simt
