// Tests clusters on several threads: which trap stays, and clusters that wait for one that has trapped.
#include <triton_runner/simt/simt.h>

#include "test.h"
#include "trapping.h"

using namespace triton_runner;
using trapping::options, trapping::trap_of;

namespace {

// A block does what x[ctaid] says (trapping.h).
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

}  // namespace

TEST(clusters_report_the_lowest) { trapping::check_lowest(*load_text("")); }

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
  trapping::check_who_waits_for_one_that_trapped(*load_text(""));
}

TEST(clusters_below_a_trap_end_at_a_timeout_and_at_a_stop) {
  trapping::check_timeout_and_stop_below_a_trap(*load_text(""));
}
