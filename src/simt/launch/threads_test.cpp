// Tests clusters on several threads: which trap stays, and clusters that wait for one that has trapped. The
// twin of src/tile/threads_test.cpp.
#include <triton_runner/simt/simt.h>

#include <map>

#include "test.h"

using namespace triton_runner;

namespace {

// x[ctaid] says what block `ctaid` does. 0: nothing. 1: writes far outside. 2: the same after a while. 3: the same
// once x[n] is not 0, which it polls. 4: the same after making x[n] 1. 5: never ends.
const char* const kBody = R"(
.visible .entry faults(.param .u64 faults_0, .param .u32 faults_1)
.reqntid 64
{
  .reg .pred %p<8>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [faults_0];
  ld.param.u32 %r1, [faults_1];
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.b32 %r3, [%rd3];
  mul.wide.u32 %rd4, %r1, 4;
  add.s64 %rd5, %rd1, %rd4;
  setp.eq.s32 %p1, %r3, 0;
  @%p1 bra $end;
  setp.eq.s32 %p2, %r3, 2;
  @!%p2 bra $next;
  mov.b32 %r4, 0;
$slow:
  add.s32 %r4, %r4, 1;
  setp.lt.s32 %p3, %r4, 3000;
  @%p3 bra $slow;
$next:
  setp.eq.s32 %p2, %r3, 3;
  @!%p2 bra $after;
$wait:
  atom.global.gpu.acq_rel.add.u32 %r5, [%rd5], 0;
  setp.eq.s32 %p3, %r5, 0;
  @%p3 bra $wait;
$after:
  setp.eq.s32 %p2, %r3, 4;
  mov.b32 %r6, 1;
  @%p2 st.release.gpu.global.b32 [%rd5], %r6;
$never:
  setp.eq.s32 %p2, %r3, 5;
  @%p2 bra $never;
  bar.sync 0;
  st.global.b32 [%rd1+4000000], %r6;
$end:
  ret;
}
)";

std::unique_ptr<exec::Kernel> load_text(const std::string& cluster) {
  std::string text = ".version 8.7\n.target sm_90a\n.address_size 64\n" + std::string(kBody);
  const std::string block = ".reqntid 64\n";
  text.insert(text.find(block) + block.size(), cluster);
  auto module = ptx::parse(std::move(text), "test.ptx");
  if (!module) {
    fprintf(stderr, "%s\n", module.error().str().c_str());
    abort();
  }
  auto kernel = simt::load(std::move(module).value());
  if (!kernel) {
    fprintf(stderr, "%s\n", kernel.error().str().c_str());
    abort();
  }
  return std::move(kernel).value();
}

exec::LaunchOptions options(int64_t clusters, int threads) {
  exec::LaunchOptions o;
  o.grid = {clusters, 1, 1};
  o.threads = threads;
  o.timeout_seconds = 120;
  return o;
}

// The trap of a launch in which each block in `what` does that.
exec::Trap trap_of(exec::Kernel& kernel, const std::map<int, int>& what, const exec::LaunchOptions& options,
                   int64_t blocks = 0) {
  std::vector<int32_t> x(static_cast<size_t>(blocks ? blocks : options.grid[0]) + 1);
  for (auto [block, does] : what) x[static_cast<size_t>(block)] = does;
  exec::Argument args[] = {{exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(x.data()), {}},
                           {exec::ParamKind::kInteger, x.size() - 1, {}}};
  exec::Allocation memory{reinterpret_cast<uint64_t>(x.data()), x.size() * 4, "x", true};
  auto error = kernel.launch(options, args, std::span(&memory, 1));
  CHECK(error && error->trap);
  return error && error->trap ? *error->trap : exec::Trap{};
}

}  // namespace

TEST(clusters_report_the_lowest) {
  auto kernel = load_text("");
  for (int threads : {1, 2, 4, 8})
    for (int round = 0; round < 25; ++round) {
      const exec::Trap trap =
          trap_of(*kernel, {{9, 2}, {10, 1}, {40, 1}, {41, 1}, {63, 1}}, options(64, threads));
      CHECK(trap.kind == exec::TrapKind::kOutOfBounds);
      CHECK_EQ(trap.program[0], 9);
    }
  for (uint64_t seed = 0; seed < 20; ++seed) {
    exec::LaunchOptions shuffled = options(64, 1);
    shuffled.shuffle = seed;
    CHECK_EQ(trap_of(*kernel, {{9, 2}, {10, 1}, {40, 1}, {63, 1}}, shuffled).program[0], 9);
  }
}

TEST(clusters_of_two_blocks_report_the_lowest) {
  auto kernel = load_text(".reqnctapercluster 2\n");
  for (int threads : {1, 2, 4})
    for (int round = 0; round < 25; ++round) {
      const exec::Trap trap =
          trap_of(*kernel, {{11, 2}, {14, 1}, {41, 1}, {60, 1}}, options(32, threads), 64);
      CHECK(trap.kind == exec::TrapKind::kOutOfBounds);
      CHECK_EQ(trap.program[0], 11);
    }
}

TEST(clusters_that_wait_for_one_that_trapped) {
  auto kernel = load_text("");
  for (int threads : {1, 2, 4}) {
    // 2 waits for what nobody does: the trap above it stays.
    exec::Trap trap = trap_of(*kernel, {{2, 3}, {5, 1}, {7, 1}}, options(16, threads));
    CHECK(trap.kind == exec::TrapKind::kOutOfBounds);
    CHECK_EQ(trap.program[0], 5);
    // 2 traps after what 5 does before it traps.
    for (int round = 0; round < 10; ++round) {
      trap = trap_of(*kernel, {{2, 3}, {5, 4}, {7, 1}}, options(16, threads));
      CHECK(trap.kind == exec::TrapKind::kOutOfBounds);
      CHECK_EQ(trap.program[0], 2);
    }
  }
}

TEST(clusters_below_a_trap_end_at_a_timeout_and_at_a_stop) {
  auto kernel = load_text("");
  for (int threads : {1, 2, 4}) {
    exec::LaunchOptions limited = options(16, threads);
    limited.timeout_seconds = 0.2;
    exec::Trap trap = trap_of(*kernel, {{2, 5}, {5, 1}, {7, 1}}, limited);
    CHECK(trap.kind == exec::TrapKind::kTimeout);
    CHECK_EQ(trap.program[0], 2);
    exec::StopToken stop;
    stop.request_stop();
    exec::LaunchOptions stopped = options(16, threads);
    stopped.stop = &stop;
    CHECK(trap_of(*kernel, {{2, 5}, {5, 1}}, stopped).kind == exec::TrapKind::kInterrupted);
  }
}
