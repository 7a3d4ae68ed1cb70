// Tests the replay against cycles that are counted by hand. The chip of these tests has round numbers, and
// costs nothing for code, launches and jumps.
#include <triton_runner/replay/footprint.h>
#include <triton_runner/replay/replay.h>

#include <cstdio>

#include "test.h"

using namespace triton_runner;
using exec::TraceEvent;

namespace {

replay::Parameters chip() {
  replay::Parameters p;
  p.fma_interval = 1, p.fmaheavy_interval = 2, p.alu_interval = 2, p.fp16_interval = 1, p.fp64_interval = 2;
  p.xu_interval = 8, p.uniform_interval = 2, p.lsu_interval = 2, p.lsu_queue = 4;
  p.xu_latency = 20, p.fp64_latency = 16, p.special_latency = 30, p.constant_latency = 30;
  p.shuffle_latency = 24, p.shared_latency = 30, p.shared_atomic_latency = 60, p.l1_latency = 40;
  p.l2_latency = 200, p.dram_latency = 500, p.atomic_latency = 300, p.read_latency = 10;
  p.barrier_latency = 20, p.mbarrier_latency = 10, p.fence_latency = 100, p.tma_latency = 100;
  p.hmma_latency = 32, p.gmma_latency = 30, p.gmma_queue = 2;
  p.hmma_f16 = 512, p.hmma_tf32 = 256, p.hmma_8bit = 1024, p.dmma = 64;
  p.gmma_f16 = 1024, p.gmma_tf32 = 512, p.gmma_8bit = 2048;
  p.shared_bytes = 128, p.l1_bytes = 128, p.l2_sm_bytes = 64, p.l2_bytes = 6400, p.l2_atomics = 100;
  p.l1_tags = 1, p.l2_requests = 100, p.l2_line_atomics = 1, p.l2_merged = 1, p.l2_size = 32 << 20;
  p.dram_bytes = 1600, p.tma_bytes = 128, p.tma_interval = 8, p.l1_size = 256 << 10;
  return p;
}

// An instruction and its control word.
struct Line {
  const char* text;
  int stall = 1, write = 7, read = 7, wait = 0;
};

std::string listing_of(const std::vector<Line>& lines) {
  std::string out = "\t.section\t.text.k,\"ax\",@progbits\nk:\n.text.k:\n";
  size_t address = 0;
  for (const Line& line : lines) {
    const uint64_t control =
        static_cast<uint64_t>(line.stall | line.write << 5 | line.read << 8 | line.wait << 11);
    char text[256];
    std::snprintf(text, sizeof text, "/*%04zx*/ %s ; /* 0x%016x */\n /* 0x%016llx */\n", address, line.text,
                  0, static_cast<unsigned long long>(control << 41));
    out += text, address += 16;
  }
  return out;
}

// Warps of a block that each execute all lines once; events by warp.
struct Case {
  std::vector<Line> lines;
  std::vector<std::vector<TraceEvent>> warps;
  std::vector<uint64_t> memory{};  // the lines of all events
  uint32_t blocks = 1, resident = 1;

  replay::Result run(const replay::Parameters& with = chip()) const {
    const auto module = sass::parse(listing_of(lines), "k.sass");
    if (!module) return {.fault = "the listing does not parse"};
    exec::Trace trace;
    trace.stretches.emplace_back();
    for (uint32_t i = 0; i < lines.size(); ++i) trace.stretches[0].push_back(i);
    for (const auto& events : warps)
      trace.blocks[0].push_back({{{0, static_cast<uint32_t>(events.size())}}, events, memory});
    replay::Setup setup;
    setup.programs.assign(blocks, 0);
    setup.resident = resident, setup.active = 100;
    return replay::replay(*(*module)->find("k"), trace, with, setup);
  }
};

TraceEvent event(uint32_t instruction, TraceEvent::Kind kind, uint32_t value = 0, uint32_t at = 0) {
  TraceEvent e;
  e.instruction = instruction, e.kind = kind, e.value = value, e.at = at;
  return e;
}

TraceEvent lines(uint32_t instruction, uint16_t count, uint32_t bytes) {
  TraceEvent e = event(instruction, TraceEvent::kGlobal, bytes);
  e.lines = count;
  return e;
}

TraceEvent wavefronts(uint32_t instruction, uint8_t count) {
  TraceEvent e = event(instruction, TraceEvent::kShared);
  e.wavefronts = count;
  return e;
}

constexpr Line kExit = {"EXIT", 1};

double stalled(const replay::Result& r, size_t instruction, replay::Reason reason) {
  return r.stalls[instruction][static_cast<size_t>(reason)];
}

}  // namespace

TEST(a_dependent_chain_takes_its_stall_counts) {
  const Case c{{{"FADD R1, R1, R1", 4}, {"FADD R1, R1, R1", 4}, {"FADD R1, R1, R1", 4}, kExit}, {{}}};
  const replay::Result r = c.run();
  CHECK_EQ(r.cycles, 13.0);  // issued at 0, 4, 8; EXIT at 12
  CHECK_EQ(r.instructions, uint64_t{4});
  CHECK_EQ(stalled(r, 1, replay::Reason::k_wait), 3.0);
}

TEST(two_warps_of_a_part_hide_each_other) {
  const std::vector<Line> chain = {{"FADD R1, R1, R1", 4}, {"FADD R1, R1, R1", 4}, kExit};
  CHECK_EQ((Case{chain, {{}}}.run().cycles), 9.0);
  // Warps 0 and 4 are of one part: one issues while the other waits.
  CHECK_EQ((Case{chain, {{}, {}, {}, {}, {}}}.run().cycles), 10.0);
}

TEST(a_result_without_fixed_time_is_waited_for) {
  const Case c{{{"MUFU.RCP R1, R2", 1, 0}, {"FADD R1, R1, R1", 4, 7, 7, 1}, kExit}, {{}}};
  const replay::Result r = c.run();
  CHECK_EQ(r.cycles, 25.0);  // 20 until the result, 4 of FADD, 1
  CHECK_EQ(stalled(r, 1, replay::Reason::k_short_scoreboard), 19.0);
}

TEST(a_pipe_takes_one_instruction_at_a_time) {
  const Case c{{{"MUFU.RCP R1, R2", 1}, {"MUFU.RCP R3, R2", 1}, kExit}, {{}}};
  const replay::Result r = c.run();
  CHECK_EQ(r.cycles, 10.0);  // at 0 and 8
  CHECK_EQ(stalled(r, 1, replay::Reason::k_math_pipe_throttle), 7.0);
}

TEST(a_bank_conflict_takes_a_cycle_a_wavefront) {
  auto with = [](uint8_t n) {
    const Case c{{{"LDS R1, [R2]", 1, 0}, {"FADD R1, R1, R1", 4, 7, 7, 1}, kExit}, {{wavefronts(0, n)}}};
    return c.run().cycles;
  };
  CHECK_EQ(with(1), 35.0);  // 30, 4, 1
  CHECK_EQ(with(8), 42.0);
}

TEST(a_barrier_opens_when_the_last_warp_comes) {
  const std::vector<Line> lines = {
      {"LDS R1, [R2]", 1, 0}, {"FADD R1, R1, R1", 1, 7, 7, 1}, {"BAR.SYNC.DEFER_BLOCKING 0x0", 1}, kExit};
  const TraceEvent bar = event(2, TraceEvent::kBarrier);
  const Case c{lines, {{wavefronts(0, 1), bar}, {wavefronts(0, 32), bar}}};
  const replay::Result r = c.run();
  // The 32 wavefronts of warp 1 come after the one of warp 0: it has its data at 1 + 31 + 30, arrives at 63.
  CHECK_EQ(r.cycles, 63.0 + 20 + 1);
  CHECK_EQ(stalled(r, 3, replay::Reason::k_barrier) > 40, true);
}

TEST(an_mbarrier_waits_for_the_copy_engine) {
  const std::vector<Line> code = {{"SYNCS.EXCH.64 URZ, [UR8], UR4", 1},
                                  {"SYNCS.ARRIVE.TRANS64 RZ, [UR8], R1", 1},
                                  {"UTMALDG.2D [UR8], [UR4]", 1},
                                  {"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR8], R1", 1},
                                  kExit};
  TraceEvent copy = lines(2, 2, 256);
  const Case c{code,
               {{event(0, TraceEvent::kInit, 1, 64), event(1, TraceEvent::kExpect, 256, 64),
                 event(1, TraceEvent::kArrive, 1, 64), copy, event(2, TraceEvent::kComplete, 256, 64),
                 event(3, TraceEvent::kWait, 0, 64)}},
               {100 << 4 | 15, 101 << 4 | 15}};
  const replay::Result r = c.run();
  // Issued at 2. The second line leaves the engine at 3 + ..., has L2's port at 4 (two cycles each), memory at 10 (8 each).
  const double there = 10 + 500 + 100;
  CHECK_EQ(r.cycles, there + 10 + 1);
  CHECK_EQ(stalled(r, 4, replay::Reason::k_mbarrier) > 500, true);
}

TEST(what_nobody_brings_about_is_a_fault) {
  const Case c{{{"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR8], R1", 1}, kExit},
               {{event(0, TraceEvent::kWait, 0, 64)}}};
  CHECK_EQ(c.run().fault.empty(), false);
}

TEST(a_load_comes_from_memory_then_from_l1) {
  const std::vector<Line> code = {{"LDG.E R1, desc[UR4][R2.64]", 1, 0},
                                  {"FADD R1, R1, R1", 1, 7, 7, 1},
                                  {"LDG.E R1, desc[UR4][R2.64]", 1, 0},
                                  {"FADD R1, R1, R1", 1, 7, 7, 1},
                                  kExit};
  const Case c{code, {{lines(0, 1, 128), lines(2, 1, 128)}}, {7 << 4 | 15}};
  const replay::Result r = c.run();
  CHECK_EQ(r.cycles, 500.0 + 1 + 40 + 1 + 1);
  CHECK_EQ(r.l1_hits, 4.0);
  CHECK_EQ(r.dram_bytes, 128.0);
}

TEST(products_of_a_warp_group_are_asynchronous) {
  const std::vector<Line> code = {{"HGMMA.64x128x16.F32 R24, gdesc[UR8], R24, gsb0", 1},
                                  {"FADD R1, R1, R1", 4},
                                  {"WARPGROUP.DEPBAR.LE gsb0, 0x0", 1},
                                  kExit};
  const replay::Result r = Case{code, {{}, {}, {}, {}}}.run();
  // 64 x 128 x 16 products by four parts of 1,024 operations a cycle: 64 cycles, 30 more until they may be read.
  CHECK_EQ(r.cycles, 64.0 + 30 + 1 + 1);
  CHECK_EQ(r.tensor, 64.0);
}

TEST(a_wave_more_takes_its_time_again) {
  Case c{{{"FADD R1, R1, R1", 4}, {"FADD R1, R1, R1", 4}, kExit}, {{}}};
  c.blocks = 3, c.resident = 1;
  const replay::Result r = c.run();
  CHECK_EQ(r.cycles, 27.0);
  CHECK_EQ(r.ends.size(), size_t{3});
  CHECK_EQ(r.ends[1], 18.0);
}

TEST(footprints_count_what_programs_share_once) {
  exec::Trace trace;
  trace.blocks[0].push_back({{}, {lines(0, 1, 128)}, {8 << 4 | 15}});
  trace.blocks[1].push_back({{}, {lines(0, 1, 128)}, {8 << 4 | 3}});
  const replay::Region all[] = {{0, 4096, 1}};
  const auto found = replay::footprints(trace, all);
  CHECK_EQ(found[0].each, uint64_t{128 + 64});
  CHECK_EQ(found[0].together, uint64_t{128});
}
