// The recorder under several threads, its order, its cap, its programs; what select() refuses.
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

struct Launched {
  std::shared_ptr<const ir::Module> module;
  std::unique_ptr<exec::Kernel> kernel;
  std::vector<int32_t> x;

  explicit Launched(int64_t programs) : x(static_cast<size_t>(programs)) {
    kernel = tile::load(std::make_shared<ir::Module>(ir::parse(kSum, "sum.ttir").value())).value();
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
