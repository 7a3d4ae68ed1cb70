// Executes atomics. Threads come one after the other, in ascending order (in another one where the launch is
// shuffled). Global memory is shared with the other workers, where other blocks run: updates there are
// atomic. A cluster's shared memory belongs to one worker.
#include "ops/atomic.h"

#include <cstring>
#include <mutex>

#include <triton_runner/num/by_size.h>

namespace triton_runner::simt {
namespace {

uint64_t read(const Exec& x, uint32_t place, uint32_t bytes, uint32_t i) {
  return num::by_size(bytes, [&](auto zero) -> uint64_t { return x.reg<decltype(zero)>(place)[i]; });
}

void write(const Exec& x, uint32_t place, uint32_t bytes, uint32_t i, uint64_t value) {
  num::by_size(bytes,
               [&](auto zero) { x.reg<decltype(zero)>(place)[i] = static_cast<decltype(zero)>(value); });
}

uint64_t now_at(const std::byte* at, uint32_t bytes) {
  return num::by_size(bytes, [&](auto zero) -> uint64_t {
    return __atomic_load_n(reinterpret_cast<const decltype(zero)*>(at), __ATOMIC_RELAXED);
  });
}

// The place of the thread's elements; null after a trap. *shared: it is in shared memory.
std::byte* place_of(Exec& x, const Operands& in, const AtomicPlan& plan, uint32_t i, bool* shared) {
  const uint64_t address = plan.address.at(x, i);
  const uint32_t bytes = plan.bytes * plan.n;
  *shared = plan.where == Space::kShared ||
            (plan.where == Space::kGeneric && (address & kWindowMask) == kSharedWindow);
  if (address % bytes != 0)
    return x.fault(in, exec::TrapKind::kMisaligned,
                   "the address is not aligned to " + std::to_string(bytes) + " bytes", i, address, bytes,
                   true);
  if (*shared) return x.shared(in, i, static_cast<uint32_t>(address), bytes, true);
  // Code that updates 16 bits by way of the word around them: the word may end past the allocation, whose
  // other bytes it leaves as they are.
  exec::MemoryView& memory = x.memory_for(in);
  if (plan.other != kNoRegister && bytes == 4 && memory.writable(address, 1) && !memory.readable(address, 4))
    return reinterpret_cast<std::byte*>(address);
  if (plan.where == Space::kGeneric) return x.generic(in, i, address, bytes, true);
  return x.global(in, i, address, bytes, true);
}

void run_atomic(Exec& x, const Operands& in, const AtomicPlan& plan) {
  if (plan.where != Space::kShared) x.worker->global_spins++;
  bool shared_event = false, changed = false;
  const bool watched = x.launch().progress.is_watched();
  const bool ok = for_each_lane(x, [&](uint32_t i) {
    bool shared;
    std::byte* at = place_of(x, in, plan, i, &shared);
    if (!at) return false;
    shared_event |= shared;
    const Update update = shared ? plan.updates.shared : plan.updates.global;
    for (uint32_t e = 0; e < plan.n; e++) {
      const uint64_t value = read(x, plan.values[e], plan.bytes, i);
      const uint64_t old = plan.other == kNoRegister
                               ? update(at + e * plan.bytes, value, 0)
                               : update(at + e * plan.bytes, read(x, plan.other, plan.bytes, i), value);
      if (plan.results[e] != kNoRegister) write(x, plan.results[e], plan.bytes, i, old);
      if (watched && !shared) [[unlikely]]
        changed |= now_at(at + e * plan.bytes, plan.bytes) != old;
    }
    return true;
  });
  if (changed) x.worker->launch->progress.changed();
  if (ok && shared_event) ++x.cta->cluster->events;
}

// .b128: exch and cas, one at a time among all workers.
std::mutex wide_mutex;

void run_atomic_wide(Exec& x, const Operands& in, const AtomicPlan& plan) {
  x.worker->global_spins++;
  using Wide = std::array<uint64_t, 2>;
  const bool ok = for_each_lane(x, [&](uint32_t i) {
    bool shared;
    std::byte* at = place_of(x, in, plan, i, &shared);
    if (!at) return false;
    const std::lock_guard lock(wide_mutex);
    Wide old;
    std::memcpy(&old, at, 16);
    const Wide first = x.reg<Wide>(plan.values[0])[i];
    if (plan.other == kNoRegister) {
      std::memcpy(at, &first, 16);
    } else if (old == first) {
      const Wide now = x.reg<Wide>(plan.other)[i];
      std::memcpy(at, &now, 16);
    }
    if (plan.results[0] != kNoRegister) x.reg<Wide>(plan.results[0])[i] = old;
    return true;
  });
  x.worker->launch->progress.changed();
  if (ok) ++x.cta->cluster->events;
}

}  // namespace

Handler atomic_handler(bool wide) { return wide ? handler<run_atomic_wide> : handler<run_atomic>; }

}  // namespace triton_runner::simt
