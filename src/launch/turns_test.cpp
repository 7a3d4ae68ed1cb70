// Tests threads that launch in turns, with a mutex in place of Python's lock.
#include <triton_runner/launch/turns.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

#include "test.h"

using namespace std::chrono_literals;
using triton_runner::launch::Turns;

namespace {

struct MutexLock final : Turns::Lock {
  explicit MutexLock(std::mutex& m) : mutex(m) {}
  void release() override { mutex.unlock(); }
  void acquire() override { mutex.lock(); }
  std::mutex& mutex;
};

// Threads that hold a lock but in the driver, where one launch takes some microseconds.
struct Program {
  std::mutex lock, driver;
  Turns turns;
  std::vector<int> order;  // which thread launched

  // until_set: the launch stays in the driver until it is true.
  void launch(int thread, const std::atomic<bool>* until_set = nullptr) {
    MutexLock own(lock);
    const uint64_t round = turns.enter(own);
    order.push_back(thread);
    lock.unlock();
    if (until_set) {
      until_set->wait(false);
    } else {
      std::lock_guard one(driver);
      for (const auto until = std::chrono::steady_clock::now() + 3us;
           std::chrono::steady_clock::now() < until;) {
      }
    }
    lock.lock();
    turns.leave(round);
  }
  void run(int threads, int launches) {
    std::vector<std::thread> workers;
    std::barrier all(threads);
    for (int t = 0; t < threads; t++)
      workers.emplace_back([this, t, launches, &all] {
        all.arrive_and_wait();
        for (int i = 0; i < launches; i++) {
          std::lock_guard guard(lock);
          launch(t);
        }
      });
    for (std::thread& worker : workers) worker.join();
  }
  int changes() const {
    int n = 0;
    for (size_t i = 1; i < order.size(); i++) n += order[i] != order[i - 1];
    return n;
  }
};

}  // namespace

TEST(one_thread_never_waits) {
  Program program;
  program.run(1, 1000);
  CHECK_EQ(program.turns.launches(), uint64_t{1000});
  CHECK_EQ(program.turns.waiting(), 0);
}

TEST(threads_launch_in_bursts_and_all_of_them) {
  Program program;
  program.run(8, 2000);
  CHECK_EQ(program.order.size(), size_t{16000});
  CHECK_EQ(program.turns.waiting(), 0);
  // Threads that take the lock as they come change with every other launch; a turn is a hundred launches and more.
  CHECK(program.changes() < 16000 / 8);
}

TEST(every_thread_has_its_turn_while_another_launches) {
  Program program;
  // Each launches until both have, however late the machine starts one; without turns one may never.
  constexpr int kEnough = 500, kMost = 10'000'000;
  int launched[2] = {0, 0};
  auto launches = [&](int t) {
    for (int i = 0; i < kMost; i++) {
      std::lock_guard guard(program.lock);
      program.launch(t);
      launched[t]++;
      if (std::min(launched[0], launched[1]) >= kEnough) return;
    }
  };
  std::thread other(launches, 1);
  launches(0);
  other.join();
  CHECK(std::min(launched[0], launched[1]) >= kEnough);
}

TEST(a_thread_that_stays_in_the_driver_holds_nobody_up) {
  Program program;
  std::atomic<bool> may_leave{false};
  std::thread stuck([&] {
    std::lock_guard guard(program.lock);
    program.launch(0, &may_leave);
  });
  while (program.turns.launches() == 0) std::this_thread::yield();
  for (int i = 0; i < 1000; i++) {
    std::lock_guard guard(program.lock);
    program.launch(1);
  }
  may_leave = true;  // which is not reached where others wait for it
  may_leave.notify_one();
  stuck.join();
  CHECK_EQ(program.turns.launches(), uint64_t{1001});
  program.run(3, 100);  // the one that came back counts no more
  CHECK_EQ(program.turns.launches(), uint64_t{1301});
}
