// Turns lets threads that launch under one lock, Python's, do so in turns of many launches.
//
// A launch lets go of the lock around the driver's call. With other threads waiting for the lock, each such call
// wakes one of them, mostly to find it taken again: eight threads launch half as often as one. So a thread that
// comes to a launch while another is in the driver waits here, without the lock and without being woken, until
// that one has had its turn or launches no more.
//
// It is said nowhere that a thread has finished. Who is first in the queue looks whether launches go on: for some
// microseconds at once, then now and then. Waking a thread takes a core that sleeps as long as fifty launches, so
// the next one is woken shortly before its turn and watches for it.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

namespace triton_runner::launch {

class Turns {
 public:
  // The lock that the threads hold when they come, and between launches.
  class Lock {
   public:
    virtual void release() = 0;
    virtual void acquire() = 0;

   protected:
    ~Lock() = default;
  };

  // Before a launch, with the lock held: waits until it is this thread's turn. The number is for leave().
  uint64_t enter(Lock& lock) {
    if (inside_ != 0 || n_waiting_ != 0) [[unlikely]]
      take_turn(lock);
    inside_++;
    launches_.store(launches_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return round_;
  }
  // After it, with the lock held again.
  void leave(uint64_t round) {
    if (round == round_) inside_--;
  }

  uint64_t launches() const { return launches_.load(std::memory_order_relaxed); }
  int waiting() const { return n_waiting_; }  // with the lock held

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiter {
    std::condition_variable woken;
    bool is_near = false;  // its turn
    std::atomic<bool> may_go{false};
  };

  void take_turn(Lock& lock);
  bool wait_in_queue(Waiter& self, bool is_first);
  bool leave_queue(Waiter& self);
  void announce();
  void hand_on();

  // Under the callers' lock.
  int inside_ = 0;  // threads in the driver, but for those that were found to be stuck there
  int n_waiting_ = 0;
  uint64_t round_ = 0;  // how often such threads were left out
  Clock::time_point began_;
  bool is_announced_ = false;  // the end of this turn

  std::atomic<uint64_t> launches_{0};
  std::mutex mutex_;  // of the queue
  std::deque<Waiter*> queue_;
};

}  // namespace triton_runner::launch
