// Executes the instructions on mbarriers, and what copies and tensor cores do to them. The 64 bits themselves
// are machine/mbarrier.h.
#include <triton_runner/base/text.h>

#include "async/mbarrier.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include "check/check.h"
#include "check/count.h"
#include "state/refuse.h"

namespace triton_runner::simt {

using base::hex;
using machine::Arrival;
using machine::Mbarrier;

namespace {

std::string name_of(uint32_t address) { return "the mbarrier at shared address " + hex(address); }

// The barrier's 8 bytes, or null after a trap.
std::byte* bytes_of(Exec& x, const Operands& in, uint32_t lane, uint32_t address) {
  if (address % 8 != 0) {
    x.trap(in, exec::TrapKind::kMisaligned, name_of(address) + " is not aligned to 8 bytes", lane,
           kSharedWindow | address, 8);
    return nullptr;
  }
  // The checks follow barriers by what they order.
  Checks* checks = std::exchange(x.worker->checks, nullptr);
  Counting* counting = std::exchange(x.worker->counting, nullptr);
  std::byte* at = x.shared(in, lane, address, 8, true);
  x.worker->checks = checks;
  x.worker->counting = counting;
  return at;
}

// The barrier there; traps if there is none.
std::optional<Mbarrier> read(Exec& x, const Operands& in, uint32_t lane, uint32_t address) {
  const std::byte* at = bytes_of(x, in, lane, address);
  if (!at) return std::nullopt;
  Mbarrier m;
  std::memcpy(&m, at, sizeof m);
  if (m.is_there()) return m;
  x.trap(in, exec::TrapKind::kInvalid,
         "there is no mbarrier at shared address " + hex(address) +
             ": it was not initialized, was invalidated, or other stores wrote over it",
         lane, kSharedWindow | address, 8);
  return std::nullopt;
}

void note(const Exec& x, const Operands& in, uint32_t lane, exec::TraceEvent::Kind kind, uint32_t address,
          uint64_t value) {
  if (x.worker->counting) x.worker->counting->barrier(x, in, lane, kind, address, value);
}

// Reads the barrier, lets `change` alter it (which gives a message if it must not), and ends the phase if
// nothing is missing.
template <class Change>
bool update(Exec& x, const Operands& in, uint32_t lane, uint32_t address, Change change) {
  std::optional<Mbarrier> m = read(x, in, lane, address);
  if (!m) return false;
  const Mbarrier before = *m;
  if (x.worker->checks) x.worker->checks->release(x, lane, address);
  if (const std::string fault = change(*m); !fault.empty())
    return refuse(x, in, exec::TrapKind::kInvalid,
                  name_of(address) + " " + fault + " (" + before.text() + ")", lane, kSharedWindow | address,
                  8);
  if (m->settle()) ++x.cta->cluster->events;
  std::memcpy(bytes_of(x, in, lane, address), &*m, sizeof *m);
  return true;
}

}  // namespace

bool mbarrier_arrive(Exec& x, const Operands& in, uint32_t lane, uint32_t address, const Arrival& arrival,
                     uint64_t* state) {
  return update(x, in, lane, address, [&](Mbarrier& m) {
    if (state) *state = std::bit_cast<uint64_t>(m);
    return m.arrive(arrival);
  });
}

bool mbarrier_expect_tx(Exec& x, const Operands& in, uint32_t lane, uint32_t address, uint32_t bytes) {
  return update(x, in, lane, address, [&](Mbarrier& m) { return m.count_bytes(bytes); });
}

bool mbarrier_complete_tx(Exec& x, const Operands& in, uint32_t lane, uint32_t address, uint32_t bytes) {
  return update(x, in, lane, address, [&](Mbarrier& m) { return m.count_bytes(-int64_t{bytes}); });
}

bool mbarrier_add_pending(Exec& x, const Operands& in, uint32_t lane, uint32_t address) {
  return update(x, in, lane, address, [&](Mbarrier& m) { return m.add_pending(1); });
}

bool mbarrier_is_gone(Exec& x, const Operands& in, uint32_t lane, uint32_t address) {
  const std::byte* at = bytes_of(x, in, lane, address);
  return at && std::all_of(at, at + sizeof(Mbarrier), [](std::byte b) { return b == std::byte{0}; });
}

bool mbarrier_valid(Exec& x, const Operands& in, uint32_t lane, uint32_t address) {
  return read(x, in, lane, address).has_value();
}

Exec late_exec(Cta& cta) {
  Exec x;
  x.regs = cta.regs;
  x.count = cta.code->threads;
  x.cta = &cta;
  x.worker = cta.worker;
  return x;
}

namespace {

// ---- instructions

// f(lane, address of its barrier) of each thread, until it returns false.
template <class F>
void each_barrier(Exec& x, const Operands& in, const MbarrierPlan& plan, F f) {
  for (uint32_t i : x.lanes()) {
    const uint32_t address = plan.address.shared_at(x, in, i);
    if (address == kNoRegister || !f(i, address)) return;
  }
}

// A path that waits, as its handler sees it, and its first thread that does.
Exec waiting_exec(Cta& cta, const Path& path, uint32_t* lane) {
  Exec x = late_exec(cta);
  x.first = path.first;
  x.count = path.count;
  *lane = 0;
  while (!path.full && *lane + 1 < path.count && !path.mask[*lane]) ++*lane;
  return x;
}

struct UsedMbarriers : CopiedPart<UsedMbarriers> {
  std::set<uint32_t> at;
  void begin(Cta&) override { at.clear(); }
};

}  // namespace

std::string shared_text(uint32_t address) {
  const uint32_t rank = address >> kRankShift;
  return "shared " + hex(address & kOffsetMask) + (rank ? " of block " + std::to_string(rank) : "");
}

std::optional<uint32_t> awaited_mbarrier(Cta& cta, const Path& path) {
  if (!path.pc || path.pc->run != handler<run_mbarrier_try_wait>) return std::nullopt;
  uint32_t lane;
  const Exec x = waiting_exec(cta, path, &lane);
  return static_cast<uint32_t>(static_cast<const MbarrierPlan*>(path.pc->data)->address.at(x, lane));
}

std::vector<uint32_t> used_mbarriers(const Cta& cta) {
  const auto& used = cta.parts[Cta::kMbarrier];
  if (!used) return {};
  const auto& at = static_cast<const UsedMbarriers&>(*used).at;
  return {at.begin(), at.end()};
}

void run_mbarrier_init(Exec& x, const Operands& in, const MbarrierPlan& plan) {
  each_barrier(x, in, plan, [&](uint32_t i, uint32_t address) {
    const uint32_t count = x.reg<uint32_t>(plan.value)[i];
    if (count == 0 || count > Mbarrier::kMost)
      return refuse(x, in, exec::TrapKind::kInvalid,
                    name_of(address) + " is to wait for " + std::to_string(count) + " arrivals: 1 to " +
                        std::to_string(Mbarrier::kMost) + " can be counted",
                    i);
    std::byte* at = bytes_of(x, in, i, address);
    if (!at) return false;
    const Mbarrier m = Mbarrier::of(count);
    std::memcpy(at, &m, sizeof m);
    note(x, in, i, exec::TraceEvent::kInit, address, count);
    if (x.launch().options->stopper)
      x.cta->part<UsedMbarriers>(Cta::kMbarrier).at.insert(address & kOffsetMask);
    return true;
  });
}

void run_mbarrier_inval(Exec& x, const Operands& in, const MbarrierPlan& plan) {
  each_barrier(x, in, plan, [&](uint32_t i, uint32_t address) {
    if (!mbarrier_valid(x, in, i, address)) return false;
    x.cta->cluster->tell_before_it_goes(address);
    std::memset(bytes_of(x, in, i, address), 0, 8);
    return true;
  });
}

// d: the state, or none.
void run_mbarrier_arrive(Exec& x, const Operands& in, const MbarrierPlan& plan) {
  each_barrier(x, in, plan, [&](uint32_t i, uint32_t address) {
    Arrival arrival;
    arrival.drop = plan.drop;
    arrival.no_complete = plan.no_complete;
    if (plan.value != kNoRegister)
      (plan.expect_tx ? arrival.expect_tx : arrival.count) = int64_t{x.reg<uint32_t>(plan.value)[i]};
    uint64_t state = 0;
    if (arrival.expect_tx) note(x, in, i, exec::TraceEvent::kExpect, address, arrival.expect_tx);
    note(x, in, i, exec::TraceEvent::kArrive, address, arrival.count);
    if (!mbarrier_arrive(x, in, i, address, arrival, &state)) return false;
    if (in.d != kNoRegister) x.reg<uint64_t>(in.d)[i] = state;
    return true;
  });
}

void run_mbarrier_expect_tx(Exec& x, const Operands& in, const MbarrierPlan& plan) {
  each_barrier(x, in, plan, [&](uint32_t i, uint32_t address) {
    note(x, in, i, exec::TraceEvent::kExpect, address, x.reg<uint32_t>(plan.value)[i]);
    return mbarrier_expect_tx(x, in, i, address, x.reg<uint32_t>(plan.value)[i]);
  });
}

void run_mbarrier_complete_tx(Exec& x, const Operands& in, const MbarrierPlan& plan) {
  each_barrier(x, in, plan, [&](uint32_t i, uint32_t address) {
    return mbarrier_complete_tx(x, in, i, address, x.reg<uint32_t>(plan.value)[i]);
  });
}

namespace {

// The phase that thread `lane` waits for is over: 1, it is not: 0; -1 after a trap.
int is_complete(Exec& x, const Operands& in, const MbarrierPlan& op, uint32_t lane, uint32_t address) {
  const std::optional<Mbarrier> m = read(x, in, lane, address);
  if (!m) return -1;
  if (op.parity) return m->has_ended(x.reg<uint32_t>(op.value)[lane] & 1);
  const auto state = std::bit_cast<Mbarrier>(x.reg<uint64_t>(op.value)[lane]);
  if (state.is_there()) return m->has_ended(state.phase);
  x.trap(in, exec::TrapKind::kInvalid, "the state operand is not what mbarrier.arrive returned", lane);
  return -1;
}

// d: the predicate. False: the instruction trapped; *any: some thread's phase is over.
bool test(Exec& x, const Operands& in, const MbarrierPlan& op, bool* any) {
  int8_t* d = x.reg<int8_t>(in.d);
  // Most often all threads ask the same.
  uint32_t last = 0;
  uint64_t last_value = 0;
  int result = -1;
  *any = false;
  for (uint32_t i : x.lanes()) {
    const uint32_t address = op.address.shared_at(x, in, i);
    if (address == kNoRegister) return false;
    const uint64_t value = op.parity ? x.reg<uint32_t>(op.value)[i] : x.reg<uint64_t>(op.value)[i];
    if (result < 0 || address != last || value != last_value) {
      result = is_complete(x, in, op, i, address);
      if (result < 0) return false;
      last = address, last_value = value;
    }
    d[i] = result ? -1 : 0;
    if (result && op.parity) note(x, in, i, exec::TraceEvent::kWait, address, value & 1);
    if (result && x.worker->checks) x.worker->checks->acquire(x, i, address);
    *any |= result != 0;
  }
  return true;
}

}  // namespace

// It may end before the phase does, after a time that the system or the program limits: where nobody else gets
// on (the scheduler says so), and anywhere in a launch with operations at random times.
void run_mbarrier_try_wait(Exec& x, const Operands& in, const MbarrierPlan& plan) {
  exec::TimingPlaces& timing = x.cta->cluster->async.timing;
  bool any;
  const bool timed_out = std::exchange(x.path->timed_out, false);
  if (!test(x, in, plan, &any) || any || timed_out) return;
  if (timing.kind() == exec::Timing::kRandom && timing.at_once()) return;
  x.retry_later(instr_of(in));
}

// Does not wait. What is pending goes on, or a loop around it would never end.
void run_mbarrier_test_wait(Exec& x, const Operands& in, const MbarrierPlan& plan) {
  bool any;
  if (!test(x, in, plan, &any) || any) return;
  Cluster& cluster = *x.cta->cluster;
  cluster.async.take_oldest([&](auto& op) { op->complete(cluster); });
}

// pending_count: a of state b.
void run_mbarrier_pending_count(Exec& x, const Operands& in) {
  for (uint32_t i : x.lanes()) {
    const auto state = std::bit_cast<Mbarrier>(x.reg<uint64_t>(in.a)[i]);
    if (!state.is_there())
      return x.trap(in, exec::TrapKind::kInvalid, "the state operand is not what mbarrier.arrive returned",
                    i);
    x.reg<uint32_t>(in.d)[i] = state.pending;
  }
}

bool waits_at_mbarrier(const Path& path) {
  return path.state == PathState::kPoll && path.pc && path.pc->run == handler<run_mbarrier_try_wait>;
}

std::string describe_mbarrier_wait(Cta& cta, const Path& path) {
  if (!path.pc || path.pc->run != handler<run_mbarrier_try_wait>) return {};
  uint32_t lane;
  const Exec x = waiting_exec(cta, path, &lane);
  const auto& op = *static_cast<const MbarrierPlan*>(path.pc->data);
  const auto address = static_cast<uint32_t>(op.address.at(x, lane));
  const Cta* owner = cta.cluster->cta_of(address);
  const uint32_t offset = address & kOffsetMask;
  if (!owner || offset + 8 > owner->shared_bytes) return {};
  Mbarrier m;
  std::memcpy(&m, owner->shared + offset, sizeof m);
  if (!m.is_there()) return name_of(address) + " (it is no longer initialized)";
  const std::string wants =
      op.parity ? " with parity " + std::to_string(x.reg<uint32_t>(op.value)[lane] & 1) + " to end"
                : " to end";
  return "waits for a phase of " + name_of(address) + wants + " (" + m.text() + ")";
}

}  // namespace triton_runner::simt
