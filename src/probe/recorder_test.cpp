// Tests the recorder under several threads, its order, its cap, its programs; and what select() refuses.
#include <triton_runner/probe/recorder.h>

#include <triton_runner/ir/module.h>
#include <triton_runner/tile/tile.h>

#include <cstring>

#include "test.h"

using namespace triton_runner;

namespace {

// x[pid] = the sum of 0 .. n-1, and pid.
const char* const kSum = R"(
module {
  tt.func public @sum(%x: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %pid = tt.get_program_id x : i32
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %pid) -> (i32) : i32 {
      %b = arith.addi %a, %i : i32
      scf.yield %b : i32
    }
    %p = tt.addptr %x, %pid : !tt.ptr<i32>, i32
    tt.store %p, %s : !tt.ptr<i32>
    tt.return
  }
}
)";

// A function that is called in a loop and outside of it, and both arms of a branch.
const char* const kCalls = R"(
module {
  tt.func public @sum(%x: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %pid = tt.get_program_id x : i32
    %a = tt.call @twice(%n) : (i32) -> i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      %b = tt.call @twice(%i) : (i32) -> i32
    }
    %is = arith.cmpi eq, %pid, %c0 : i32
    scf.if %is {
      %t = arith.subi %a, %c1 : i32
    } else {
      %t = arith.addi %a, %c1 : i32
    }
    %d = tt.call @twice(%a) : (i32) -> i32
    tt.return
  }
  tt.func private @twice(%v: i32) -> i32 {
    %t = arith.addi %v, %v : i32
    tt.return %t : i32
  }
}
)";

struct Launched {
  std::shared_ptr<const ir::Module> module;
  std::unique_ptr<exec::Kernel> kernel;
  std::vector<int32_t> x;

  explicit Launched(int64_t programs, const char* text = kSum) : x(static_cast<size_t>(programs)) {
    kernel = tile::load(std::make_shared<ir::Module>(ir::parse(text, "sum.ttir").value())).value();
    module = tile::module_of(*kernel);
  }

  probe::Recording record(probe::RecorderOptions options, int threads, base::Status* status = nullptr) {
    probe::Recorder recorder(std::move(options));
    exec::LaunchOptions launch;
    launch.grid = {static_cast<int64_t>(x.size()), 1, 1};
    launch.threads = threads;
    base::Status begun = recorder.begin(module, "sum", "ttir", launch.grid);
    if (status) *status = begun;
    if (!begun) return {};
    launch.observer = &recorder;
    exec::Argument args[] = {{exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(x.data()), {}},
                             {exec::ParamKind::kInteger, 4, {}}};
    exec::Allocation memory{reinterpret_cast<uint64_t>(x.data()), x.size() * 4, "x", true};
    CHECK(!kernel->launch(launch, args, std::span(&memory, 1)));
    return recorder.take();
  }
};

int32_t value(const probe::Series& s, size_t record) {
  int32_t v;
  std::memcpy(&v, s.data.data() + record * 4, 4);
  return v;
}

}  // namespace

TEST(threads_record_each_program_in_its_order) {
  Launched sum(64);
  probe::Recording r = sum.record({{{"%b", {}}, {"%s", {}}}, false, true, {}, 1 << 20}, 4);
  CHECK_EQ(r.series.size(), size_t{2});
  const probe::Series& s = r.series[0].site.value == "%b" ? r.series[0] : r.series[1];
  CHECK_EQ(s.size(), size_t{256});
  const int32_t sums[] = {0, 1, 3, 6};
  for (size_t i = 0; i < 256; ++i) {
    CHECK_EQ(s.programs[i][0], static_cast<int64_t>(i / 4));
    CHECK_EQ(s.iterations[i], static_cast<int64_t>(i % 4));
    CHECK_EQ(value(s, i), static_cast<int32_t>(i / 4) + sums[i % 4]);
  }
}

TEST(the_last_iteration_and_some_programs) {
  Launched sum(8);
  probe::Recording r = sum.record({{{"arith.addi", {}}}, false, false, {{3, -1, 0}, {5, 0, 0}}, 1 << 20}, 2);
  const probe::Series& s = r.series.at(0);
  CHECK_EQ(s.size(), size_t{2});
  CHECK_EQ(s.programs[1][0], int64_t{5});
  CHECK_EQ(value(s, 1), 11);
  CHECK_EQ(s.iterations[1], int64_t{3});
}

TEST(what_the_cap_leaves_no_room_for_is_counted) {
  Launched sum(8);
  probe::Recording r = sum.record({{{"%b", {}}}, false, true, {}, 40}, 1);
  CHECK_EQ(r.series.at(0).size(), size_t{10});
  CHECK_EQ(r.series.at(0).dropped, int64_t{22});
  CHECK_EQ(r.notes.size(), size_t{1});
}

TEST(names_and_programs_that_are_not_there) {
  Launched sum(8);
  base::Status status = base::success();
  sum.record({{{"%bb", {}}}}, 1, &status);
  CHECK(!status && status.error().message == "there is no value %bb in this module");
  sum.record({{{"%b", {}}}, false, false, {{8, 0, 0}}}, 1, &status);
  CHECK(!status && status.error().message == "program (8, 0, 0) is not in the grid (8, 1, 1)");
}

TEST(each_definition_of_a_name_has_a_series_of_its_own) {
  Launched calls(2, kCalls);
  probe::Recording r = calls.record({{{"%t", {}}}, false, true, {}, 1 << 20}, 1);
  CHECK_EQ(r.series.size(), size_t{3});
  const char* const names[] = {"%t@1", "%t@2", "%t@3"};
  const char* const paths[] = {"sum/scf.if@6.0/arith.subi@0", "sum/scf.if@6.1/arith.addi@0",
                               "twice/arith.addi@0"};
  for (size_t i = 0; i < 3; ++i) {
    CHECK_EQ(r.series[i].site.value, std::string(names[i]));
    CHECK_EQ(r.series[i].site.path, std::string(paths[i]));
  }
  CHECK_EQ(value(r.series[0], 0), 7);
  CHECK_EQ(value(r.series[1], 0), 9);
  CHECK_EQ(r.series[1].programs[0][0], int64_t{1});
}

TEST(calls_in_more_loops_and_in_fewer_are_records_of_one_series) {
  Launched calls(1, kCalls);
  probe::Recording r = calls.record({{{"%t@3", {}}}, false, true, {}, 1 << 20}, 1);
  const probe::Series& s = r.series.at(0);
  CHECK_EQ(s.site.loops, 1);
  CHECK_EQ(s.iterations, (std::vector<int64_t>{-1, 0, 1, 2, 3, -1}));
  const int32_t values[] = {8, 0, 2, 4, 6, 16};
  for (size_t i = 0; i < 6; ++i) CHECK_EQ(value(s, i), values[i]);

  r = calls.record({{{"%t@3", {}}}, false, false, {}, 1 << 20}, 1);  // the last
  CHECK_EQ(r.series.at(0).iterations, std::vector<int64_t>{-1});
  CHECK_EQ(value(r.series.at(0), 0), 16);
}
