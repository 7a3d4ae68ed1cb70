// bar, barrier, barrier.cluster, fences, and instructions that only tell the hardware something. PTX
// ISA 9.7.13.1 to 9.7.13.4, 9.7.13.13, 9.7.19.
#include "divergence.h"

#include "lower.h"

namespace triton_runner::simt {
namespace {

// a: the barrier, b: how many threads (none: all).
bool barrier_operands(Exec& x, const Operands& in, uint32_t* barrier, uint32_t* expected) {
  const uint32_t lane = first_on(x);
  *barrier = x.reg<uint32_t>(in.a)[lane];
  *expected = in.b == kNoRegister ? 0 : x.reg<uint32_t>(in.b)[lane];
  if (*barrier >= x.cta->barriers.size()) {
    x.trap(in, exec::TrapKind::kInvalid,
           "barrier " + std::to_string(*barrier) + ": a block has 16, numbered from 0", lane);
    return false;
  }
  if (*expected % 32 || *expected > x.code().threads) {
    x.trap(in, exec::TrapKind::kInvalid,
           "a barrier for " + std::to_string(*expected) +
               " threads: a multiple of 32 is wanted, at most the " + std::to_string(x.code().threads) +
               " of the block",
           lane);
    return false;
  }
  return true;
}

void bar_sync(Lanes& l, const Operands& in) {
  Exec& x = exec_of(l);
  uint32_t barrier = 0, expected = 0;
  if (!barrier_operands(x, in, &barrier, &expected)) return;
  if (arrive(*x.cta, barrier, count_on(x), expected)) {
    if (x.cta->paths.size() > 1) x.leave();
    return;
  }
  park(x, instr_of(in), PathState::kBarrier);
  x.path->barrier = barrier;
}

void bar_arrive(Lanes& l, const Operands& in) {
  Exec& x = exec_of(l);
  uint32_t barrier = 0, expected = 0;
  if (!barrier_operands(x, in, &barrier, &expected)) return;
  if (arrive(*x.cta, barrier, count_on(x), expected)) x.leave();
}

enum Vote : int64_t { kCount, kAll, kAny };  // barrier.red.popc, .and, .or

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

void bar_red(Lanes& l, const Operands& in) {
  Exec& x = exec_of(l);
  Cta& cta = *x.cta;
  uint32_t barrier = 0, expected = 0;
  if (!barrier_operands(x, in, &barrier, &expected)) return;
  uint32_t holds = 0;
  for (uint32_t i = 0; i < l.count; ++i)
    holds += l.on(i) && (static_cast<uint8_t>(l.reg<int8_t>(in.c)[i]) ^ in.small);
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
  write_reduction(l, in, count, all);
  for (auto [s, pc] : waiting) {
    Lanes theirs{cta.regs, s->first, s->count, s->full ? nullptr : s->mask.data()};
    if (pc->run == bar_red) write_reduction(theirs, *pc, count, all);
  }
  if (cta.paths.size() > 1) x.leave();
}

// Threads of the cluster that have not ended.
uint32_t alive_in(const Cluster& cluster) {
  uint32_t n = 0;
  for (const auto& cta : cluster.ctas) n += cta->alive_count;
  return n;
}

void cluster_arrive(Lanes& l, const Operands&) {
  Exec& x = exec_of(l);
  Cluster& cluster = *x.cta->cluster;
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i)) x.cta->cluster_tickets[l.first + i] = cluster.barrier.ticket();
  if (cluster.barrier.arrive(count_on(l), alive_in(cluster))) ++cluster.events;
}

void cluster_wait(Lanes& l, const Operands& in) {
  Exec& x = exec_of(l);
  Cluster& cluster = *x.cta->cluster;
  if (cluster.barrier.settle(alive_in(cluster))) ++cluster.events;
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i) && !cluster.barrier.is_open(x.cta->cluster_tickets[l.first + i]))
      return x.retry_later(instr_of(in));
}

void warp_sync(Lanes& l, const Operands& in) {
  Exec& x = exec_of(l);
  if (!l.mask) return;
  const uint32_t members = in.a == kNoRegister ? ~0u : l.reg<uint32_t>(in.a)[first_on(l)];
  x.converged(instr_of(in), members);
}

void nothing(Lanes&, const Operands&) {}

bool lower_bar(Lowering& l, const ptx::Instruction& in) {
  using ptx::Mod;
  auto operand = [&](size_t i) { return l.place(in.operands[i], Mod::kU32); };
  if (in.has(Mod::kCluster)) {
    l.emit(in.has(Mod::kArrive) ? cluster_arrive : cluster_wait);
    return true;
  }
  if (in.has(Mod::kWarp)) {
    if (in.operands.size() != 1) return l.error(in, "bar.warp.sync takes a mask of its threads");
    uint32_t mask = operand(0);
    l.emit(warp_sync).a = mask;
    return true;
  }
  if (in.has(Mod::kRed)) {
    // d, a {, b}, {!}c
    if (in.operands.size() < 3) return l.error(in, "barrier.red takes a result, a barrier and a predicate");
    const bool popc = in.has(Mod::kPopc);
    const ptx::Operand& c = in.operands.back();
    uint32_t d = l.reg(in.operands[0]), a = operand(1);
    uint32_t b = in.operands.size() > 3 ? operand(2) : kNoRegister;
    uint32_t p = l.place(c, Mod::kPred);
    Instr& i = l.emit(bar_red);
    i.d = d, i.a = a, i.b = b, i.c = p;
    i.small = c.negated ? 0xff : 0;
    i.imm = popc ? kCount : in.has(Mod::kAnd) ? kAll : kAny;
    return true;
  }
  if (in.operands.empty()) return l.error(in, "expected the number of a barrier");
  uint32_t a = operand(0), b = in.operands.size() > 1 ? operand(1) : kNoRegister;
  if (in.has(Mod::kArrive) && b == kNoRegister)
    return l.error(in, "barrier.arrive needs the number of threads of the barrier");
  Instr& i = l.emit(in.has(Mod::kArrive) ? bar_arrive : bar_sync);
  i.a = a, i.b = b;
  return true;
}

}  // namespace

bool lower_barrier(Lowering& l, const ptx::Instruction& in) {
  if (in.does(ptx::Effect::kMeets)) return lower_bar(l, in);
  // Fences: memory is coherent here, in program order. setmaxnreg, griddepcontrol, nanosleep: hints.
  return lower_hint(l, in);
}

bool lower_hint(Lowering& l, const ptx::Instruction&) {
  l.emit(nothing).guard = kNoRegister;
  return true;
}

}  // namespace triton_runner::simt
