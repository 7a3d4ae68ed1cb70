// Implements Turns: the queue of threads that wait for their turn to launch.
#include <triton_runner/launch/turns.h>

#include <utility>

namespace triton_runner::launch {
namespace {

using std::chrono::microseconds;

constexpr microseconds kTurn{5000};  // as long as Python leaves a thread alone
constexpr microseconds kNear{200};   // before its end the next thread is woken
constexpr microseconds kLook{15};    // of the first in the queue at once: a thread in a burst launches sooner
constexpr microseconds kLookAgain{200};

}  // namespace

// Needs mutex_, as what follows does.
void Turns::announce() {
  if (queue_.empty()) return;
  queue_.front()->is_near = true;
  queue_.front()->woken.notify_one();
}

// The turn goes to who waits longest.
void Turns::hand_on() {
  if (queue_.empty()) return;
  Waiter* next = queue_.front();
  queue_.pop_front();
  next->woken.notify_one();
  next->may_go = true;                                      // it may be gone as soon as the mutex is
  if (!queue_.empty()) queue_.front()->woken.notify_one();  // it is first now
}

// A thread that goes without being told to; true: it was told at the last moment.
bool Turns::leave_queue(Waiter& self) {
  if (self.may_go) return true;
  std::erase(queue_, &self);
  if (!queue_.empty()) queue_.front()->woken.notify_one();
  return false;
}

// Returns when this thread may go: because it was told to (true), or because nobody launches any more.
bool Turns::wait_in_queue(Waiter& self, bool is_first) {
  const auto watch = [&](microseconds time) {
    const uint64_t seen = launches();
    const auto until = Clock::now() + time;
    while (!self.may_go && Clock::now() < until)
      if (launches() != seen && time == kLook) return true;
    return launches() != seen;
  };
  if (is_first && !watch(kLook)) {
    std::lock_guard guard(mutex_);
    return leave_queue(self);
  }
  std::unique_lock guard(mutex_);
  while (!self.may_go) {
    if (queue_.front() != &self) {
      self.woken.wait(guard);
      continue;
    }
    const uint64_t seen = launches();
    if (std::exchange(self.is_near, false)) {
      guard.unlock();
      watch(2 * kNear);
      guard.lock();
    } else if (self.woken.wait_for(guard, kLookAgain) == std::cv_status::no_timeout) {
      continue;
    }
    if (launches() == seen) return leave_queue(self);
  }
  return true;
}

void Turns::take_turn(Lock& lock) {
  const auto now = Clock::now();
  if (inside_ == 0 && now - began_ < kTurn) {  // others wait, and this thread's turn is not over
    if (now - began_ < kTurn - kNear || is_announced_) return;
    is_announced_ = true;
    std::lock_guard guard(mutex_);
    return announce();
  }
  Waiter self;
  bool is_first = false;
  const bool is_over = inside_ == 0;
  {
    std::lock_guard guard(mutex_);
    queue_.push_back(&self);
    is_first = queue_.size() == 1 && !is_over;
  }
  if (n_waiting_++ == 0 || is_over) began_ = now, is_announced_ = false;
  lock.release();
  if (is_over) {  // only now, so that the next one finds the lock free
    std::lock_guard guard(mutex_);
    hand_on();
  }
  const bool was_told = wait_in_queue(self, is_first);
  lock.acquire();
  n_waiting_--;
  began_ = Clock::now(), is_announced_ = false;
  if (!was_told) round_++, inside_ = 0;  // who is in the driver stays there for longer
}

}  // namespace triton_runner::launch
