// Puts the task pool under load, for ThreadSanitizer: compiled from the pool's source alone, so that it
// builds in seconds.
#include <atomic>
#include <thread>
#include <vector>

#include <triton_runner/exec/pool.h>
#include <triton_runner/exec/stop_token.h>

#include "test.h"

using triton_runner::exec::run_workers;

TEST(what_workers_write_is_seen_by_the_caller) {
  std::vector<int> written(8);  // plain memory: the pool's own synchronisation must order it
  for (int round = 1; round <= 200; ++round) {
    run_workers(8, [&](int worker) { written[worker] = round; });
    for (int value : written) CHECK_EQ(value, round);
  }
}

TEST(launches_from_several_threads_take_turns) {
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 50; ++round) {
        std::vector<int> mine(caller + 1);
        run_workers(caller + 1, [&](int worker) { mine[worker] = 1, calls.fetch_add(1); });
        for (int value : mine) CHECK_EQ(value, 1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK_EQ(calls.load(), 50 * (1 + 2 + 3 + 4));
}

TEST(workers_deal_out_programs) {
  constexpr int kPrograms = 10000;
  std::vector<int> ran(kPrograms);
  std::atomic<int> next{0};
  run_workers(4, [&](int) {
    for (int program; (program = next.fetch_add(1)) < kPrograms;) ++ran[program];
  });
  for (int times : ran) CHECK_EQ(times, 1);
}

TEST(a_stop_token_raised_elsewhere_ends_the_work) {
  triton_runner::exec::StopToken stop;
  std::thread other([&] { stop.request_stop(); });
  run_workers(4, [&](int) {
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  other.join();
  CHECK(stop.stop_requested());
}
