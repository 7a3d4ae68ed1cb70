// Tests programs on several threads, and programs that wait for each other on one. `make test PARTS=tsan`
// runs these under ThreadSanitizer, so no kernel here has a race of its own.
#include "loaded_kernel.h"
#include "test.h"
#include "trapping.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace triton_runner;
using tile::load_text, tile::memory, tile::pointer;
using trapping::options;

namespace {

exec::LaunchResult launch(exec::Kernel& kernel, std::vector<int32_t>& x, exec::LaunchOptions options) {
  exec::Argument args[] = {{exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(x.data()), {}},
                           {exec::ParamKind::kInteger, static_cast<uint64_t>(options.grid[0]), {}}};
  exec::Allocation memory{reinterpret_cast<uint64_t>(x.data()), x.size() * 4, "x", true};
  return kernel.launch(options, args, std::span(&memory, 1));
}

// Cooperative: x[0] counts the programs that came; each waits for all n, then writes 1 + what the next one
// (round about) wrote before.
const char* const kBarrier = R"(
module {
  tt.func public @barrier(%x: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %pid = tt.get_program_id x : i32
    %mine = arith.addi %pid, %c1 : i32
    %p = tt.addptr %x, %mine : !tt.ptr<i32>, i32
    tt.store %p, %pid : !tt.ptr<i32>
    %came = tt.atomic_rmw add, acq_rel, gpu, %x, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32
    scf.while : () -> () {
      %now = tt.atomic_rmw add, acq_rel, gpu, %x, %c0, %true : (!tt.ptr<i32>, i32, i1) -> i32
      %wait = arith.cmpi slt, %now, %n : i32
      scf.condition(%wait)
    } do {
      scf.yield
    }
    %next = arith.remsi %mine, %n : i32
    %next_1 = arith.addi %next, %c1 : i32
    %q = tt.addptr %x, %next_1 : !tt.ptr<i32>, i32
    %theirs = tt.load %q : !tt.ptr<i32>
    %out_at = arith.addi %mine, %n : i32
    %o = tt.addptr %x, %out_at : !tt.ptr<i32>, i32
    tt.store %o, %theirs : !tt.ptr<i32>
    tt.return
  }
}
)";

// Stream-K: every program but the first leaves a partial sum, x[1 + pid], and raises its flag, x[1 + n +
// pid]; the first waits for each in turn and adds them up in x[0].
const char* const kStream = R"(
module {
  tt.func public @stream(%x: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %pid = tt.get_program_id x : i32
    %partials = tt.addptr %x, %c1 : !tt.ptr<i32>, i32
    %flags = tt.addptr %partials, %n : !tt.ptr<i32>, i32
    %first = arith.cmpi eq, %pid, %c0 : i32
    scf.if %first {
      %sum = scf.for %i = %c1 to %n step %c1 iter_args(%s = %c0) -> (i32) : i32 {
        %f = tt.addptr %flags, %i : !tt.ptr<i32>, i32
        scf.while : () -> () {
          %flag = tt.atomic_cas acquire, gpu, %f, %c1, %c1 : (!tt.ptr<i32>, i32, i32) -> i32
          %wait = arith.cmpi ne, %flag, %c1 : i32
          scf.condition(%wait)
        } do {
          scf.yield
        }
        %p = tt.addptr %partials, %i : !tt.ptr<i32>, i32
        %v = tt.load %p : !tt.ptr<i32>
        %t = arith.addi %s, %v : i32
        scf.yield %t : i32
      }
      tt.store %x, %sum : !tt.ptr<i32>
    } else {
      %p = tt.addptr %partials, %pid : !tt.ptr<i32>, i32
      tt.store %p, %pid : !tt.ptr<i32>
      %f = tt.addptr %flags, %pid : !tt.ptr<i32>, i32
      %old = tt.atomic_rmw exch, release, gpu, %f, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32
    }
    tt.return
  }
}
)";

// Adds 1 to x[0 .. 1024) as atomics of a tile; program 5 of a grid of more than 32 then writes far outside.
const char* const kCount = R"(
module {
  tt.func public @count(%x: !tt.ptr<i32>, %n: i32) {
    %c5 = arith.constant 5 : i32
    %c32 = arith.constant 32 : i32
    %far = arith.constant 1000000 : i32
    %one = arith.constant dense<1> : tensor<1024xi32>
    %all = arith.constant dense<true> : tensor<1024xi1>
    %pid = tt.get_program_id x : i32
    %offsets = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %base = tt.splat %x : !tt.ptr<i32> -> tensor<1024x!tt.ptr<i32>>
    %ptrs = tt.addptr %base, %offsets : tensor<1024x!tt.ptr<i32>>, tensor<1024xi32>
    %old = tt.atomic_rmw add, relaxed, gpu, %ptrs, %one, %all : (tensor<1024x!tt.ptr<i32>>, tensor<1024xi32>, tensor<1024xi1>) -> tensor<1024xi32>
    %many = arith.cmpi sgt, %n, %c32 : i32
    %fifth = arith.cmpi eq, %pid, %c5 : i32
    %bad = arith.andi %many, %fifth : i1
    scf.if %bad {
      %p = tt.addptr %x, %far : !tt.ptr<i32>, i32
      tt.store %p, %pid : !tt.ptr<i32>
    }
    tt.return
  }
}
)";

// Never ends, and writes nothing: waits for x[0] to become 1.
const char* const kWait = R"(
module {
  tt.func public @wait(%x: !tt.ptr<i32>, %n: i32) {
    %c1 = arith.constant 1 : i32
    scf.while : () -> () {
      %flag = tt.atomic_cas acquire, gpu, %x, %c1, %c1 : (!tt.ptr<i32>, i32, i32) -> i32
      %wait = arith.cmpi ne, %flag, %c1 : i32
      scf.condition(%wait)
    } do {
      scf.yield
    }
    tt.return
  }
}
)";

// A program does what x[pid] says (trapping.h).
const char* const kFaults = R"(
module {
  tt.func public @faults(%x: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c4 = arith.constant 4 : i32
    %c5 = arith.constant 5 : i32
    %while = arith.constant 3000 : i32
    %far = arith.constant 1000000 : i32
    %true = arith.constant true
    %pid = tt.get_program_id x : i32
    %p = tt.addptr %x, %pid : !tt.ptr<i32>, i32
    %what = tt.load %p : !tt.ptr<i32>
    %flag = tt.addptr %x, %n : !tt.ptr<i32>, i32
    %is_slow = arith.cmpi eq, %what, %c2 : i32
    %turns = arith.select %is_slow, %while, %c0 : i32
    %sum = scf.for %i = %c0 to %turns step %c1 iter_args(%s = %c0) -> (i32) : i32 {
      %t = arith.addi %s, %i : i32
      scf.yield %t : i32
    }
    %waits = arith.cmpi eq, %what, %c3 : i32
    scf.if %waits {
      scf.while : () -> () {
        %now = tt.atomic_rmw add, acq_rel, gpu, %flag, %c0, %true : (!tt.ptr<i32>, i32, i1) -> i32
        %wait = arith.cmpi eq, %now, %c0 : i32
        scf.condition(%wait)
      } do {
        scf.yield
      }
    }
    %tells = arith.cmpi eq, %what, %c4 : i32
    scf.if %tells {
      %old = tt.atomic_rmw exch, acq_rel, gpu, %flag, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32
    }
    %never = arith.cmpi eq, %what, %c5 : i32
    scf.if %never {
      scf.while : () -> () {
        %wait = arith.cmpi eq, %what, %c5 : i32
        scf.condition(%wait)
      } do {
        scf.yield
      }
    }
    %bad = arith.cmpi ne, %what, %c0 : i32
    scf.if %bad {
      %q = tt.addptr %x, %far : !tt.ptr<i32>, i32
      tt.store %q, %sum : !tt.ptr<i32>
    }
    tt.return
  }
}
)";

}  // namespace

TEST(threads_meet_at_a_barrier_of_the_grid) {
  auto kernel = load_text(kBarrier);
  for (int threads : {1, 2, 4}) {
    std::vector<int32_t> x(33);
    CHECK(!launch(*kernel, x, options(16, threads)));
    CHECK_EQ(x[0], 16);
    for (int pid = 0; pid < 16; ++pid) CHECK_EQ(x[17 + pid], (pid + 1) % 16);
  }
}

// More programs than a shuffled launch has under way at first; its turns end at other places than the loop's end too.
TEST(shuffled_programs_meet_at_a_barrier_of_the_grid) {
  auto kernel = load_text(kBarrier);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    std::vector<int32_t> x(33);
    exec::LaunchOptions shuffled = options(16, 1);
    shuffled.shuffle = seed;
    CHECK(!launch(*kernel, x, shuffled));
    CHECK_EQ(x[0], 16);
    for (int pid = 0; pid < 16; ++pid) CHECK_EQ(x[17 + pid], (pid + 1) % 16);
  }
}

TEST(threads_pass_partial_sums) {
  auto kernel = load_text(kStream);
  for (int threads : {1, 2, 4}) {
    std::vector<int32_t> x(65);
    CHECK(!launch(*kernel, x, options(32, threads)));
    CHECK_EQ(x[0], 31 * 32 / 2);
  }
}

TEST(threads_add_atomically) {
  auto kernel = load_text(kCount);
  for (int round = 0; round < 4; ++round) {
    std::vector<int32_t> x(1024);
    CHECK(!launch(*kernel, x, options(32, 4)));
    for (int32_t count : x) CHECK_EQ(count, 32);
  }
}

TEST(threads_stop_when_one_program_traps) {
  auto kernel = load_text(kCount);
  for (int threads : {1, 2, 4}) {
    std::vector<int32_t> x(1024);
    auto error = launch(*kernel, x, options(2000, threads));
    CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kOutOfBounds);
    CHECK_EQ(error->trap->program[0], 5);
    CHECK(x[0] < 2000);
    std::fill(x.begin(), x.end(), 0);  // the next launch is as if nothing had been
    CHECK(!launch(*kernel, x, options(8, threads)));
    CHECK_EQ(x[1023], 8);
  }
}

TEST(threads_report_the_lowest_program) { trapping::check_lowest(*load_text(kFaults)); }

TEST(threads_that_wait_for_one_that_trapped) {
  trapping::check_who_waits_for_one_that_trapped(*load_text(kFaults));
}

TEST(threads_below_a_trap_end_at_a_timeout_and_at_a_stop) {
  trapping::check_timeout_and_stop_below_a_trap(*load_text(kFaults));
}

TEST(threads_of_callers_launch_at_once) {
  auto kernel = load_text(kCount);
  std::vector<int32_t> x(1024);
  std::atomic<int> failures{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 5; ++round)
        if (launch(*kernel, x, options(8, 1 + caller % 3))) ++failures;
    });
  for (std::thread& caller : callers) caller.join();
  CHECK_EQ(failures.load(), 0);
  CHECK_EQ(x[0], 4 * 5 * 8);
  CHECK_EQ(x[1023], 4 * 5 * 8);
}

TEST(threads_leave_at_a_timeout_and_at_a_stop) {
  auto kernel = load_text(kWait);
  for (int threads : {1, 4}) {
    std::vector<int32_t> x(1);
    exec::LaunchOptions limited = options(8, threads);
    limited.timeout_seconds = 0.1;
    auto error = launch(*kernel, x, limited);
    CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kTimeout);

    exec::StopToken stop;
    exec::LaunchOptions stoppable = options(8, threads);
    stoppable.stop = &stop;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      stop.request_stop();
    });
    error = launch(*kernel, x, stoppable);
    other.join();
    CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kInterrupted);
  }
}

TEST(threads_are_made_anew_in_a_child) {
  auto kernel = load_text(kCount);
  std::vector<int32_t> x(1024);
  CHECK(!launch(*kernel, x, options(8, 3)));
  pid_t child = fork();
  if (child == 0) _exit(!launch(*kernel, x, options(8, 3)) && x[7] == 16 ? 0 : 1);
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(!launch(*kernel, x, options(8, 3)));
  CHECK_EQ(x[7], 16);
}
