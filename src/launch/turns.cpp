// The queue of threads that wait for their turn to launch.
#include <triton_runner/launch/turns.h>

#include <algorithm>

namespace triton_runner::launch {
namespace {

using std::chrono::microseconds;

constexpr microseconds kTurn{1000};  // a hand-over takes some tens
constexpr microseconds kLook{15};    // of the first in the queue at once: a thread in a burst launches sooner
constexpr microseconds kLookAgain{200};

}  // namespace

// The turn goes to who waits longest. Needs mutex_.
void Turns::hand_on() {
  if (queue_.empty()) return;
  Waiter* next = queue_.front();
  queue_.pop_front();
  next->may_go = true;
  next->woken.notify_one();
  if (!queue_.empty()) queue_.front()->woken.notify_one();  // it is first now
}

// Returns when this thread may go: because it was told to (true), or because nobody launches any more.
bool Turns::wait_in_queue(Waiter& self, bool is_first) {
  if (is_first) {
    const uint64_t seen = launches();
    const auto until = Clock::now() + kLook;
    while (launches() == seen && Clock::now() < until) {
    }
    if (launches() == seen) {
      std::lock_guard guard(mutex_);
      if (self.may_go) return true;
      std::erase(queue_, &self);
      if (!queue_.empty()) queue_.front()->woken.notify_one();
      return false;
    }
  }
  std::unique_lock guard(mutex_);
  while (!self.may_go) {
    if (queue_.front() != &self) {
      self.woken.wait(guard);
      continue;
    }
    const uint64_t seen = launches();
    self.woken.wait_for(guard, kLookAgain);
    if (self.may_go || launches() != seen) continue;
    std::erase(queue_, &self);
    if (!queue_.empty()) queue_.front()->woken.notify_one();
    return false;
  }
  return true;
}

void Turns::take_turn(Lock& lock) {
  const auto now = Clock::now();
  if (inside_ == 0 && now - began_ < kTurn) return;  // others wait, and this thread's turn is not over
  Waiter self;
  bool is_first = false;
  {
    std::lock_guard guard(mutex_);
    if (n_waiting_ == 0 || inside_ == 0) began_ = now;
    queue_.push_back(&self);
    if (inside_ == 0)
      hand_on();
    else
      is_first = queue_.size() == 1;
  }
  n_waiting_++;
  lock.release();
  const bool was_told = wait_in_queue(self, is_first);
  lock.acquire();
  n_waiting_--;
  began_ = Clock::now();
  if (!was_told) round_++, inside_ = 0;  // who is in the driver stays there for longer
}

}  // namespace triton_runner::launch
