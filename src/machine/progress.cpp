// Implements Progress: counts the rounds of workers that only spin until they show that nobody ever does
// more.
#include <triton_runner/machine/progress.h>

#include <sched.h>

#include <chrono>

namespace triton_runner::machine {
namespace {

constexpr uint64_t kRounds = 200, kLeft = ~uint64_t{0};  // kLeft: of a worker that has nothing left
constexpr double kImpatience = 5;                        // times kLivelockSeconds

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Waiter::~Waiter() {
  set_idle(true);
  all_.rounds_[index_].store(kLeft, std::memory_order_relaxed);
}

void Waiter::set_idle(bool idle) {
  if (idle == idle_here_) return;
  idle_here_ = idle;
  all_.idle_.fetch_add(idle ? 1 : -1, std::memory_order_relaxed);
}

bool Waiter::is_quiet(Quiet& quiet, uint64_t now_seen, double now, double seconds) {
  const bool busy_elsewhere =
      all_.idle_.load(std::memory_order_relaxed) < static_cast<int>(all_.rounds_.size());
  if (busy_elsewhere || now_seen != quiet.seen || quiet.since == 0) {
    quiet.seen = now_seen, quiet.since = now;
    quiet.rounds.clear();
    for (const auto& r : all_.rounds_) quiet.rounds.push_back(r.load(std::memory_order_relaxed));
  }
  if (now - quiet.since < seconds) return false;
  for (size_t i = 0; i < quiet.rounds.size(); ++i) {
    const uint64_t rounds = all_.rounds_[i].load(std::memory_order_relaxed);
    if (rounds != kLeft && rounds - quiet.rounds[i] < kRounds) return false;
  }
  return true;
}

bool Waiter::nobody_gets_on(bool impatient) {
  sched_yield();
  set_idle(true);
  all_.watched_.store(true, std::memory_order_relaxed);
  all_.rounds_[index_].fetch_add(1, std::memory_order_relaxed);
  const uint64_t ends = all_.ends_.load(std::memory_order_relaxed);
  const uint64_t changes = all_.changes_.load(std::memory_order_relaxed) + ends;
  const double now = steady_seconds();
  const bool none_ended = is_quiet(ends_, ends, now, kImpatience * kLivelockSeconds);
  return is_quiet(changes_, changes, now, kLivelockSeconds) || (impatient && none_ended);
}

}  // namespace triton_runner::machine
