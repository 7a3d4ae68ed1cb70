// Executes an instruction when it issues: decides which units it takes, and when its result is there. Which
// warp issues is decided in sm.cpp.
#include <algorithm>

#include "sm.h"

namespace triton_runner::replay {

using exec::TraceEvent;

namespace {

constexpr double kPolls = 1;  // a thread that waits at an mbarrier looks again

}  // namespace

void Sm::execute(Warp& warp, const Op& op, double at) {
  const std::span<const TraceEvent> events = events_of(warp);
  if (!events.empty() && events[0].kind == TraceEvent::kOff) return set(warp, op, at, at + 1);
  double begin = at;
  if (op.pipe != kNoPipe && op.pipe != kTensor) begin = pipes_[warp.part][op.pipe].take(at, op.interval);
  switch (op.kind) {
    case Kind::kFixed:
      return;
    case Kind::kVariable:
      return set(warp, op, at, begin + op.latency);
    case Kind::kConstant:
      return set(warp, op, at, std::max(at, constant(op, at)) + op.latency);
    case Kind::kThreadCopy:
      return thread_copy(warp, op, begin, events);
    case Kind::kRequest:
      for (const TraceEvent& event : events) request(warp, op, begin, event);
      if (events.empty()) set(warp, op, at, begin + op.latency);
      return;
    case Kind::kBulkCopy:
      return bulk_copy(warp, op, at, events);
    case Kind::kCommit: {
      const double end = op.stores ? warp.bulk_reads : warp.copies;
      set(warp, op, at, at + 1);
      for (const uint8_t s : {op.write, op.read})
        if (s < kScoreboards) warp.scoreboards[s].groups.push_back(std::max(at, end));
      return;
    }
    case Kind::kBarrier:
      if (!events.empty()) barrier(warp, op, at, events[0]);
      return;
    case Kind::kObject:
      set(warp, op, at, at + op.latency);
      for (const TraceEvent& event : events) object(warp, at, event);
      return;
    case Kind::kProduct:
    case Kind::kGroupProduct:
      return product(warp, op, at);
    case Kind::kGroupArrive: {
      BlockBarrier& group = slots_[warp.slot].barriers[16 + warp.number / 4 % 8];
      return meet(warp, group, 4 * 32, at + 1, true);
    }
    case Kind::kGroups:
    case Kind::kGroupWait:
      return;
    case Kind::kFence:
      return hold(warp, at + op.latency, Reason::k_membar);
  }
}

// A request of threads, whose addresses are known from `at` on.
void Sm::request(Warp& warp, const Op& op, double at, const TraceEvent& event) {
  double done = at + op.latency;
  if (event.kind == TraceEvent::kShared) {
    const double begin = memory_.shared.take(at, std::max<uint8_t>(1, event.wavefronts));
    done = begin + op.latency + std::max(0, event.wavefronts - 1);
  } else {
    done = access(warp, op, at, event);
  }
  if (op.stores && event.kind == TraceEvent::kGlobal) warp.stores = std::max(warp.stores, done);
  set(warp, op, at, op.stores ? at + chip_.read_latency : done);
}

// Each line goes to shared memory by itself when it comes, in as many wavefronts as the request has at least.
void Sm::thread_copy(Warp& warp, const Op& op, double at, std::span<const TraceEvent> events) {
  double done = at, wavefronts = 0;
  for (const TraceEvent& event : events) {
    if (event.kind == TraceEvent::kShared) wavefronts = std::max<double>(wavefronts, event.wavefronts);
    if (event.kind != TraceEvent::kGlobal) continue;
    wavefronts = std::max(wavefronts, event.lines / chip_.l1_tags);
    done = std::max(done, access(warp, op, at, event) + chip_.copy_latency);
  }
  memory_.shared.take(at, wavefronts);
  warp.copies = std::max(warp.copies, done);
  set(warp, op, at, done);
}

// When the last of the sectors is there, or written.
double Sm::access(Warp& warp, const Op& op, double at, const TraceEvent& event) {
  double done = at;
  for (uint32_t k = 0; k < event.lines; ++k) {
    const uint64_t packed = warp.trace->lines[event.first + k];
    const uint64_t line = memory_.place_of(packed >> 4, warp.repeat);
    const auto sectors = static_cast<uint32_t>(packed & 15);
    // The tags are looked up line by line, the data of a request then move together.
    const double begin = memory_.shared.take(at, 1 / chip_.l1_tags);
    double one;
    if (event.kind == TraceEvent::kLocal) {
      const uint64_t own =
          (line << 24 | (slots_[warp.slot].block * 64 + warp.number) % (1u << 24)) | uint64_t{1} << 62;
      one = memory_.local(begin, own, sectors, op.stores);
    } else if (op.updates) {
      one = memory_.update(begin, line, sectors);
    } else if (op.stores) {
      one = memory_.store(begin, line, sectors);
    } else {
      one = memory_.load(begin, line, sectors, !op.bypasses, warp.is_first);
    }
    done = std::max(done, one);
  }
  return done;
}

void Sm::bulk_copy(Warp& warp, const Op& op, double at, std::span<const TraceEvent> events) {
  double done = at;
  const TraceEvent *data = nullptr, *tells = nullptr;
  for (const TraceEvent& event : events) {
    if (event.kind == TraceEvent::kGlobal) data = &event;
    if (event.kind == TraceEvent::kComplete) tells = &event;
  }
  if (data) {
    const double begin = copy_engine_.take(at, std::max(chip_.tma_interval, data->value / chip_.tma_bytes));
    for (uint32_t k = 0; k < data->lines; ++k) {
      const uint64_t packed = warp.trace->lines[data->first + k];
      const uint64_t line = memory_.place_of(packed >> 4, warp.repeat);
      const auto sectors = static_cast<uint32_t>(packed & 15);
      const double arrives = begin + k * exec::kLineBytes / chip_.tma_bytes;
      done = std::max(done, op.stores ? memory_.store(arrives, line, sectors)
                                      : memory_.load(arrives, line, sectors, false, warp.is_first));
    }
    done += chip_.tma_latency;
    if (op.stores)
      warp.bulk_reads = std::max(warp.bulk_reads, begin + data->value / chip_.tma_bytes + chip_.tma_latency);
  }
  set(warp, op, at, at + chip_.read_latency);
  if (tells) {
    const Slot& slot = slots_[warp.slot];
    arrivals_.push({done, warp.slot, slot.block, tells->at, tells->value, 0});
  }
}

void Sm::barrier(Warp& warp, const Op& op, double at, const TraceEvent& event) {
  Slot& slot = slots_[warp.slot];
  const uint32_t wanted = event.value ? event.value : slot.alive * 32;
  const double open = barrier_unit_.take(at, chip_.barrier_interval) + chip_.barrier_latency;
  meet(warp, slot.barriers[event.at % 16], wanted, open, !op.arrives_only);
}

// The warp comes to a barrier of so many threads, which is open at `open` if it is the last one.
void Sm::meet(Warp& warp, BlockBarrier& b, uint32_t wanted, double open, bool waits) {
  b.arrived += 32;
  const bool opens = b.arrived >= wanted;
  if (opens) {
    wake(b.waiting, open, Reason::k_barrier);
    b = {};
  }
  if (!waits) return;
  hold(warp, opens ? open : kNever, Reason::k_barrier);
  if (!opens) b.waiting.push_back(warp.slot * warps_of_block_ + warp.number);
}

void Sm::object(Warp& warp, double at, const TraceEvent& event) {
  Slot& slot = slots_[warp.slot];
  Object& o = slot.objects[event.at];
  switch (event.kind) {
    case TraceEvent::kInit:
      o = {};
      o.wanted = o.pending = event.value;
      return;
    case TraceEvent::kExpect:
      o.bytes += event.value;
      return settle(o, at);
    case TraceEvent::kArrive:
      o.pending -= event.value;
      return settle(o, at);
    case TraceEvent::kComplete:
      o.bytes -= event.value;
      return settle(o, at);
    case TraceEvent::kWait:
      if (o.phase != event.value) return hold(warp, at + kPolls, Reason::k_mbarrier);
      hold(warp, kNever, Reason::k_mbarrier);
      o.waiting.push_back(warp.slot * warps_of_block_ + warp.number);
      return;
    default:
      return;
  }
}

void Sm::complete(const Arrival& arrival) {
  Slot& slot = slots_[arrival.slot];
  if (slot.block != arrival.block) return;
  Object& o = slot.objects[arrival.object];
  o.bytes -= arrival.bytes;
  o.pending -= arrival.arrivals;
  settle(o, arrival.at);
}

// Ends the phase if nothing is missing.
void Sm::settle(Object& o, double at) {
  if (o.pending > 0 || o.bytes != 0) return;
  o.phase ^= 1, o.pending = o.wanted;
  wake(o.waiting, at + chip_.mbarrier_latency, Reason::k_mbarrier);
}

void Sm::product(Warp& warp, const Op& op, double at) {
  Queue& tensor = pipes_[warp.part][kTensor];
  const double begin = tensor.take(at, op.interval);
  const double done = begin + op.interval + op.latency;
  if (op.kind == Kind::kProduct) return set(warp, op, at, begin + op.latency);
  warp.products = std::max(warp.products, done);
  if (!op.commits) return;
  warp.product_groups.push_back(warp.products);
  warp.products = 0;
}

}  // namespace triton_runner::replay
