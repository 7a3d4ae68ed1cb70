// Checks which trap a launch reports on any number of threads. Both engines have a kernel for it, faults(x, n), in
// which x[program] says what a program does. 0: nothing. 1: writes far outside. 2: the same after a while. 3: the
// same once x[n] is not 0, which it polls. 4: the same after making x[n] 1. 5: never ends.
#pragma once
#include <map>
#include <vector>

#include <triton_runner/exec/kernel.h>

#include "test.h"

namespace triton_runner::trapping {

inline exec::LaunchOptions options(int64_t programs, int threads) {
  exec::LaunchOptions o;
  o.grid = {programs, 1, 1};
  o.threads = threads;
  o.timeout_seconds = 3600;  // only what hangs takes so long, also under TSan on a busy machine
  return o;
}

// Returns the trap of a launch in which each program in `what` does that. words: of x, but for x[n]; 0: as many as programs.
inline exec::Trap trap_of(exec::Kernel& kernel, const std::map<int, int>& what,
                          const exec::LaunchOptions& options, int64_t words = 0) {
  std::vector<int32_t> x(static_cast<size_t>(words ? words : options.grid[0]) + 1);
  for (auto [program, does] : what) x[static_cast<size_t>(program)] = does;
  exec::Argument args[] = {{exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(x.data()), {}},
                           {exec::ParamKind::kInteger, x.size() - 1, {}}};
  exec::Allocation memory{reinterpret_cast<uint64_t>(x.data()), x.size() * 4, "x", true};
  auto error = kernel.launch(options, args, std::span(&memory, 1));
  CHECK(error && error->trap);
  return error && error->trap ? *error->trap : exec::Trap{};
}

inline void check_lowest(exec::Kernel& kernel) {
  for (int threads : {1, 2, 4, 8})
    for (int round = 0; round < 25; ++round) {
      const exec::Trap trap =
          trap_of(kernel, {{9, 2}, {10, 1}, {40, 1}, {41, 1}, {63, 1}}, options(64, threads));
      CHECK(trap.kind == exec::TrapKind::kOutOfBounds);
      CHECK_EQ(trap.program[0], 9);
    }
  // Those that a shuffled launch has not started yet run too.
  for (uint64_t seed = 0; seed < 20; ++seed) {
    exec::LaunchOptions shuffled = options(64, 1);
    shuffled.shuffle = seed;
    CHECK_EQ(trap_of(kernel, {{9, 2}, {10, 1}, {40, 1}, {63, 1}}, shuffled).program[0], 9);
  }
}

inline void check_who_waits_for_one_that_trapped(exec::Kernel& kernel) {
  for (int threads : {1, 2, 4}) {
    // 2 waits for what nobody does: the trap above it stays.
    exec::Trap trap = trap_of(kernel, {{2, 3}, {5, 1}, {7, 1}}, options(16, threads));
    CHECK(trap.kind == exec::TrapKind::kOutOfBounds);
    CHECK_EQ(trap.program[0], 5);
    // 2 traps after what 5 does before it traps.
    for (int round = 0; round < 10; ++round) {
      trap = trap_of(kernel, {{2, 3}, {5, 4}, {7, 1}}, options(16, threads));
      CHECK(trap.kind == exec::TrapKind::kOutOfBounds);
      CHECK_EQ(trap.program[0], 2);
    }
  }
}

inline void check_timeout_and_stop_below_a_trap(exec::Kernel& kernel) {
  for (int threads : {1, 2, 4}) {
    exec::LaunchOptions limited = options(16, threads);
    limited.timeout_seconds = 0.2;
    exec::Trap trap = trap_of(kernel, {{2, 5}, {5, 1}, {7, 1}}, limited);
    CHECK(trap.kind == exec::TrapKind::kTimeout);
    CHECK_EQ(trap.program[0], 2);
    exec::StopToken stop;
    stop.request_stop();
    exec::LaunchOptions stopped = options(16, threads);
    stopped.stop = &stop;
    CHECK(trap_of(kernel, {{2, 5}, {5, 1}}, stopped).kind == exec::TrapKind::kInterrupted);
  }
}

}  // namespace triton_runner::trapping
