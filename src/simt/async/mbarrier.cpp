// The instructions on mbarriers, and what copies and tensor cores do to them.
#include <triton_runner/base/text.h>

#include "async/mbarrier.h"

#include <cstdio>
#include <cstring>
#include <utility>

#include "ptx/addresses.h"
#include "check/check.h"
#include "ptx/lower.h"

namespace triton_runner::simt {

using base::hex;

using ptx::Mod;
using ptx::OperandKind;

namespace {

// From the lowest bit: pending 20, expected 20, tx 21 (signed), phase 1, and 0b10 for "this is a barrier".
constexpr uint64_t kCount = kMaxMbarrierCount;
constexpr uint64_t kTxMask = (1u << 21) - 1;
constexpr uint64_t kMark = uint64_t{2} << 62;

std::string name_of(uint32_t address) { return "the mbarrier at shared address " + hex(address); }

std::string state_text(const Mbarrier& m) {
  return "phase " + std::to_string(m.phase) + ": " + std::to_string(m.pending) +
         (m.pending == 1 ? " arrival" : " arrivals") + " and " + std::to_string(m.tx) + " bytes are missing";
}

// The barrier's 8 bytes, or null after a trap.
std::byte* bytes_of(Exec& x, const Operands& in, uint32_t lane, uint32_t address) {
  if (address % 8 != 0) {
    x.trap(in, exec::TrapKind::kMisaligned, name_of(address) + " is not aligned to 8 bytes", lane,
           kSharedWindow | address, 8);
    return nullptr;
  }
  // The checks follow barriers by what they order.
  Checks* checks = std::exchange(x.worker->checks, nullptr);
  std::byte* at = x.shared(in, lane, address, 8, true);
  x.worker->checks = checks;
  return at;
}

// The barrier there; traps if there is none.
std::optional<Mbarrier> read(Exec& x, const Operands& in, uint32_t lane, uint32_t address) {
  const std::byte* at = bytes_of(x, in, lane, address);
  if (!at) return std::nullopt;
  uint64_t bits;
  std::memcpy(&bits, at, 8);
  std::optional<Mbarrier> m = decode_mbarrier(bits);
  if (!m)
    x.trap(in, exec::TrapKind::kInvalid,
           "there is no mbarrier at shared address " + hex(address) +
               ": it was not initialized, was invalidated, or other stores wrote over it",
           lane, kSharedWindow | address, 8);
  return m;
}

// Reads the barrier, lets `change` alter it (which gives a message if it must not), and ends the phase if
// nothing is missing.
template <class Change>
bool update(Exec& x, const Operands& in, uint32_t lane, uint32_t address, Change change) {
  std::optional<Mbarrier> m = read(x, in, lane, address);
  if (!m) return false;
  const Mbarrier before = *m;
  if (x.worker->checks) x.worker->checks->release(x, lane, address);
  if (const std::string fault = change(*m); !fault.empty()) {
    x.trap(in, exec::TrapKind::kInvalid, name_of(address) + " " + fault + " (" + state_text(before) + ")",
           lane, kSharedWindow | address, 8);
    return false;
  }
  if (m->pending == 0 && m->tx == 0) {
    m->phase = !m->phase;
    m->pending = m->expected;
    ++x.cta->cluster->events;
  }
  const uint64_t bits = encode_mbarrier(*m);
  std::memcpy(bytes_of(x, in, lane, address), &bits, 8);
  return true;
}

std::string add_tx(Mbarrier& m, int64_t bytes) {
  const int64_t tx = m.tx + bytes;
  if (tx > int64_t{kMaxMbarrierCount} || tx < -int64_t{kMaxMbarrierCount})
    return "cannot count " + std::to_string(tx) + " bytes: the limit is " + std::to_string(kMaxMbarrierCount);
  m.tx = static_cast<int32_t>(tx);
  return {};
}

}  // namespace

uint64_t encode_mbarrier(const Mbarrier& m) {
  return m.pending | uint64_t{m.expected} << 20 | (static_cast<uint64_t>(m.tx) & kTxMask) << 40 |
         uint64_t{m.phase} << 61 | kMark;
}

std::optional<Mbarrier> decode_mbarrier(uint64_t bits) {
  if (bits >> 62 != 2) return std::nullopt;
  Mbarrier m;
  m.pending = static_cast<uint32_t>(bits & kCount);
  m.expected = static_cast<uint32_t>(bits >> 20 & kCount);
  m.tx = static_cast<int32_t>(static_cast<int64_t>(bits << 3) >> 43);
  m.phase = bits >> 61 & 1;
  return m;
}

bool mbarrier_arrive(Exec& x, const Operands& in, uint32_t lane, uint32_t address, const Arrival& arrival,
                     uint64_t* state) {
  return update(x, in, lane, address, [&](Mbarrier& m) -> std::string {
    if (state) *state = encode_mbarrier(m);
    if (std::string fault = add_tx(m, arrival.expect_tx); !fault.empty()) return fault;
    if (arrival.count == 0 || arrival.count > m.pending)
      return "gets " + std::to_string(arrival.count) + " arrivals where it wants " +
             std::to_string(m.pending);
    if (arrival.drop) {
      if (arrival.count > m.expected) return "cannot drop more participants than it has";
      m.expected -= arrival.count;
    }
    m.pending -= arrival.count;
    if (arrival.no_complete && m.pending == 0) return "would be completed by an arrival with .noComplete";
    return {};
  });
}

bool mbarrier_expect_tx(Exec& x, const Operands& in, uint32_t lane, uint32_t address, uint32_t bytes) {
  return update(x, in, lane, address, [&](Mbarrier& m) { return add_tx(m, bytes); });
}

bool mbarrier_complete_tx(Exec& x, const Operands& in, uint32_t lane, uint32_t address, uint32_t bytes) {
  return update(x, in, lane, address, [&](Mbarrier& m) { return add_tx(m, -int64_t{bytes}); });
}

bool mbarrier_add_pending(Exec& x, const Operands& in, uint32_t lane, uint32_t address) {
  return update(x, in, lane, address, [&](Mbarrier& m) -> std::string {
    if (m.pending == kMaxMbarrierCount) return "cannot count another arrival";
    ++m.pending;
    return {};
  });
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

struct Operation {
  AddressPlace address;
  uint32_t value = kNoRegister;  // count, bytes, state or parity
  bool expect_tx = false, drop = false, no_complete = false;
  bool parity = false;  // of waits
};

template <class F>
void each_lane(Exec& x, F f) {
  for (uint32_t i = 0; i < x.count; i++)
    if (x.on(i) && !f(i)) return;
}

void run_init(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& op = *static_cast<const Operation*>(in.data);
  each_lane(x, [&](uint32_t i) {
    const uint32_t address = op.address.shared_at(x, in, i);
    if (address == kNoRegister) return false;
    const uint32_t count = x.reg<uint32_t>(op.value)[i];
    if (count == 0 || count > kMaxMbarrierCount) {
      x.trap(in, exec::TrapKind::kInvalid,
             name_of(address) + " is to wait for " + std::to_string(count) + " arrivals: 1 to " +
                 std::to_string(kMaxMbarrierCount) + " can be counted",
             i);
      return false;
    }
    std::byte* at = bytes_of(x, in, i, address);
    if (!at) return false;
    const uint64_t bits = encode_mbarrier({count, count, 0, false});
    std::memcpy(at, &bits, 8);
    return true;
  });
}

void run_inval(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& op = *static_cast<const Operation*>(in.data);
  each_lane(x, [&](uint32_t i) {
    const uint32_t address = op.address.shared_at(x, in, i);
    if (address == kNoRegister || !mbarrier_valid(x, in, i, address)) return false;
    x.cta->cluster->tell_before_it_goes(address);
    std::memset(bytes_of(x, in, i, address), 0, 8);
    return true;
  });
}

// d: the state, or none.
void run_arrive(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& op = *static_cast<const Operation*>(in.data);
  each_lane(x, [&](uint32_t i) {
    Arrival arrival;
    arrival.drop = op.drop;
    arrival.no_complete = op.no_complete;
    if (op.value != kNoRegister)
      (op.expect_tx ? arrival.expect_tx : arrival.count) = x.reg<uint32_t>(op.value)[i];
    const uint32_t address = op.address.shared_at(x, in, i);
    if (address == kNoRegister) return false;
    uint64_t state = 0;
    if (!mbarrier_arrive(x, in, i, address, arrival, &state)) return false;
    if (in.d != kNoRegister) x.reg<uint64_t>(in.d)[i] = state;
    return true;
  });
}

void run_expect_tx(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& op = *static_cast<const Operation*>(in.data);
  each_lane(x, [&](uint32_t i) {
    const uint32_t address = op.address.shared_at(x, in, i);
    return address != kNoRegister && mbarrier_expect_tx(x, in, i, address, x.reg<uint32_t>(op.value)[i]);
  });
}

void run_complete_tx(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& op = *static_cast<const Operation*>(in.data);
  each_lane(x, [&](uint32_t i) {
    const uint32_t address = op.address.shared_at(x, in, i);
    return address != kNoRegister && mbarrier_complete_tx(x, in, i, address, x.reg<uint32_t>(op.value)[i]);
  });
}

// The phase that thread `lane` waits for is over: 1, it is not: 0; -1 after a trap.
int is_complete(Exec& x, const Operands& in, const Operation& op, uint32_t lane, uint32_t address) {
  const std::optional<Mbarrier> m = read(x, in, lane, address);
  if (!m) return -1;
  if (op.parity) return m->phase != ((x.reg<uint32_t>(op.value)[lane] & 1) != 0);
  const std::optional<Mbarrier> state = decode_mbarrier(x.reg<uint64_t>(op.value)[lane]);
  if (state) return m->phase != state->phase;
  x.trap(in, exec::TrapKind::kInvalid, "the state operand is not what mbarrier.arrive returned", lane);
  return -1;
}

// d: the predicate. False: the instruction trapped; *any: some thread's phase is over.
bool test(Exec& x, const Operands& in, bool* any) {
  const auto& op = *static_cast<const Operation*>(in.data);
  int8_t* d = x.reg<int8_t>(in.d);
  // Most often all threads ask the same.
  uint32_t last = 0;
  uint64_t last_value = 0;
  int result = -1;
  *any = false;
  for (uint32_t i = 0; i < x.count; i++) {
    if (!x.on(i)) continue;
    const uint32_t address = op.address.shared_at(x, in, i);
    if (address == kNoRegister) return false;
    const uint64_t value = op.parity ? x.reg<uint32_t>(op.value)[i] : x.reg<uint64_t>(op.value)[i];
    if (result < 0 || address != last || value != last_value) {
      result = is_complete(x, in, op, i, address);
      if (result < 0) return false;
      last = address, last_value = value;
    }
    d[i] = result ? -1 : 0;
    if (result && x.worker->checks) x.worker->checks->acquire(x, i, address);
    *any |= result != 0;
  }
  return true;
}

// It may end before the phase does, after a time that the system or the program limits: where nobody else gets
// on (the scheduler says so), and anywhere in a launch with operations at random times.
void run_try_wait(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  exec::TimingPlaces& timing = x.cta->cluster->timing;
  bool any;
  const bool timed_out = std::exchange(x.path->timed_out, false);
  if (!test(x, in, &any) || any || timed_out) return;
  if (timing.kind() == exec::Timing::kRandom && timing.at_once()) return;
  x.retry_later(instr_of(in));
}

// Does not wait. What is pending goes on, or a loop around it would never end.
void run_test_wait(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  bool any;
  if (!test(x, in, &any) || any) return;
  Cluster& cluster = *x.cta->cluster;
  if (cluster.pending.empty()) return;
  std::unique_ptr<AsyncOp> op = std::move(cluster.pending.front());
  cluster.pending.pop_front();
  op->complete(cluster);
}

// pending_count: a of state b.
void run_pending_count(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  each_lane(x, [&](uint32_t i) {
    const std::optional<Mbarrier> state = decode_mbarrier(x.reg<uint64_t>(in.a)[i]);
    if (!state) {
      x.trap(in, exec::TrapKind::kInvalid, "the state operand is not what mbarrier.arrive returned", i);
      return false;
    }
    x.reg<uint32_t>(in.d)[i] = state->pending;
    return true;
  });
}

bool is_generic(const ptx::Instruction& in) {
  return !in.has(Mod::kShared) && !in.has(Mod::kSharedCta) && !in.has(Mod::kSharedCluster);
}

bool lower_arrive(Lowering& l, const ptx::Instruction& in, Operation op) {
  const bool has_state = in.operands[0].kind != OperandKind::kAddress;
  const size_t at = has_state ? 1 : 0;
  if (in.operands.size() <= at) return l.error(in, "mbarrier.arrive needs the barrier's address");
  if (!address_place(l, in.operands[at], &op.address)) return false;
  if (in.operands.size() > at + 1) op.value = l.place(in.operands[at + 1], Mod::kU32);
  op.expect_tx = in.has(Mod::kExpectTx);
  op.drop = in.has(Mod::kArriveDrop);
  op.no_complete = in.has(Mod::kNoComplete);
  if (op.expect_tx && op.value == kNoRegister) return l.error(in, ".expect_tx needs a number of bytes");
  Instr& i = l.emit(run_arrive);
  i.d = has_state ? l.reg(in.operands[0]) : kNoRegister;
  i.data = l.code.keep(op);
  return true;
}

}  // namespace

bool lower_mbarrier(Lowering& l, const ptx::Instruction& in) {
  Operation op;
  op.address.generic = is_generic(in);
  auto address = [&](size_t i) {
    return i < in.operands.size() && address_place(l, in.operands[i], &op.address);
  };
  if (in.has(Mod::kArrive) || in.has(Mod::kArriveDrop)) return lower_arrive(l, in, op);
  if (in.has(Mod::kPendingCount)) {
    const uint32_t d = l.reg(in.operands[0]), a = l.place(in.operands[1], Mod::kB64);
    if (d == kNoRegister) return true;
    Instr& i = l.emit(run_pending_count);
    i.d = d, i.a = a;
    return true;
  }
  if (in.has(Mod::kTestWait) || in.has(Mod::kTryWait)) {
    if (in.operands.size() < 3) return l.error(in, "a predicate, the barrier's address and what to wait for");
    op.parity = in.has(Mod::kParity);
    if (!address(1)) return false;
    op.value = l.place(in.operands[2], op.parity ? Mod::kU32 : Mod::kB64);
    const uint32_t d = l.reg(in.operands[0]);
    if (d == kNoRegister) return l.error(in, "the result of a wait has to be a predicate");
    Instr& i = l.emit(in.has(Mod::kTryWait) ? run_try_wait : run_test_wait);
    i.d = d;
    i.data = l.code.keep(op);
    return true;
  }
  if (!address(0)) return false;
  Handler run = nullptr;
  if (in.has(Mod::kInval)) {
    run = run_inval;
  } else {
    if (in.operands.size() < 2) return l.error(in, "needs the barrier's address and a count");
    op.value = l.place(in.operands[1], Mod::kU32);
    run = in.has(Mod::kInit) ? run_init : in.has(Mod::kExpectTx) ? run_expect_tx : run_complete_tx;
  }
  l.emit(run).data = l.code.keep(op);
  return true;
}

bool waits_at_mbarrier(const Path& path) {
  return path.state == PathState::kPoll && path.pc && path.pc->run == run_try_wait;
}

std::string describe_mbarrier_wait(Cta& cta, const Path& path) {
  if (!path.pc || path.pc->run != run_try_wait) return {};
  Exec x = late_exec(cta);
  x.first = path.first;
  x.count = path.count;
  uint32_t lane = 0;
  while (!path.full && lane + 1 < path.count && !path.mask[lane]) ++lane;
  const auto& op = *static_cast<const Operation*>(path.pc->data);
  const auto address = static_cast<uint32_t>(op.address.at(x, lane));
  const Cta* owner = cta.cluster->cta_of(address);
  const uint32_t offset = address & kOffsetMask;
  if (!owner || offset + 8 > owner->shared_bytes) return {};
  uint64_t bits;
  std::memcpy(&bits, owner->shared + offset, 8);
  const std::optional<Mbarrier> m = decode_mbarrier(bits);
  if (!m) return name_of(address) + " (it is no longer initialized)";
  const std::string wants =
      op.parity ? " with parity " + std::to_string(x.reg<uint32_t>(op.value)[lane] & 1) + " to end"
                : " to end";
  return "waits for a phase of " + name_of(address) + wants + " (" + state_text(*m) + ")";
}

}  // namespace triton_runner::simt
