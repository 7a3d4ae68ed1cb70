// Tests counting loops before they run, and reading a buffer back: what the golden cases of
// tests/cases/insert do not reach.
#include <cstring>

#include <triton_runner/ir/module.h>
#include <triton_runner/probe/insert.h>

#include "loop_counts.h"
#include "test.h"

namespace triton_runner::probe {
namespace {

ir::Module parsed(const std::string& body, const std::string& parameters) {
  auto module = ir::parse(
      "module {\n  tt.func public @k(" + parameters + ") {\n" + body + "    tt.return\n  }\n}\n", "k.ttir");
  if (!module) std::abort();
  return std::move(module).value();
}

std::vector<const ir::Op*> loops_of(const ir::Module& module) {
  std::vector<const ir::Op*> found;
  for (const ir::Op* op = module.kernels()[0]->region()->first->first; op;) {
    if (op->kind != ir::OpKind::kFor) {
      op = op->next;
      continue;
    }
    found.push_back(op);
    op = op->region()->first->first;
  }
  return found;
}

std::vector<int64_t> trip_counts(const std::string& body, std::array<int64_t, 3> grid,
                                 std::vector<std::optional<int64_t>> arguments,
                                 const std::string& parameters = "%n: i32") {
  ir::Module module = parsed(body, parameters);
  Arithmetic arithmetic(*module.kernels()[0], grid, arguments);
  return arithmetic.trip_counts(loops_of(module));
}

constexpr const char* kConstants =
    "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n    %c3 = arith.constant 3 : i32\n"
    "    %pid = tt.get_program_id x : i32\n    %all = tt.get_num_programs x : i32\n";

std::string with_constants(const std::string& body) { return kConstants + body; }

}  // namespace

TEST(trip_counts_of_arguments) {
  const std::string loop = with_constants("    scf.for %i = %c0 to %n step %c3  : i32 {\n    }\n");
  CHECK_EQ(trip_counts(loop, {1, 1, 1}, {10}), std::vector<int64_t>{4});
  CHECK_EQ(trip_counts(loop, {1, 1, 1}, {-5}), std::vector<int64_t>{1});  // a slot at least
  CHECK_EQ(trip_counts(loop, {1, 1, 1}, {std::nullopt}), std::vector<int64_t>{0});
}

TEST(trip_counts_are_those_of_the_longest_program) {
  const std::string loop = with_constants(
      "    %to = arith.muli %pid, %n : i32\n    scf.for %i = %c0 to %to step %c1  : i32 {\n    }\n");
  CHECK_EQ(trip_counts(loop, {5, 1, 1}, {3}), std::vector<int64_t>{12});
}

TEST(trip_counts_of_nested_loops) {
  const std::string persistent = with_constants(
      "    scf.for %i = %pid to %n step %all  : i32 {\n      %e = arith.addi %i, %c3 : i32\n"
      "      scf.for %j = %i to %e step %c1  : i32 {\n      }\n    }\n");
  CHECK_EQ(trip_counts(persistent, {4, 1, 1}, {10}), (std::vector<int64_t>{3, 3}));
  const std::string triangle = with_constants(
      "    scf.for %i = %c0 to %n step %c1  : i32 {\n      scf.for %j = %c0 to %i step %c1  : i32 {\n      "
      "}\n    }\n");
  CHECK_EQ(trip_counts(triangle, {1, 1, 1}, {7}), (std::vector<int64_t>{7, 6}));
  // The outer one hangs on memory, the inner one does not.
  const std::string inner = with_constants(
      "    %m = tt.load %p : !tt.ptr<i32>\n    scf.for %i = %c0 to %m step %c1  : i32 {\n"
      "      scf.for %j = %c0 to %n step %c1  : i32 {\n      }\n    }\n");
  CHECK_EQ(trip_counts(inner, {1, 1, 1}, {5, std::nullopt}, "%n: i32, %p: !tt.ptr<i32>"),
           (std::vector<int64_t>{0, 5}));
}

TEST(trip_counts_wrap_as_their_type) {
  const std::string loop = with_constants(
      "    %big = arith.constant 2147483647 : i32\n    %w = arith.addi %big, %n : i32\n"
      "    %s = arith.cmpi slt, %w, %c0 : i32\n    %to = arith.select %s, %c3, %c1 : i32\n"
      "    scf.for %i = %c0 to %to step %c1  : i32 {\n    }\n");
  CHECK_EQ(trip_counts(loop, {1, 1, 1}, {1}), std::vector<int64_t>{3});
}

TEST(decode_reads_what_was_written) {
  Insertion insertion;
  insertion.grid = {3, 1, 1};
  Area area;
  area.series.site.value = "%x";
  area.series.site.type = num::Type::kI32;
  area.series.site.shape = {2};
  area.series.site.loops = 1;
  area.trip_counts = {2};
  area.counted = {false};
  area.programs = 3;
  area.slots = 2;
  area.words = 2;
  area.header = 0;
  area.overflow = 48;
  area.data = 128;
  area.stride = 16;
  insertion.areas.push_back(area);
  insertion.bytes = 128 + 6 * 16;
  std::vector<std::byte> buffer(static_cast<size_t>(insertion.bytes));
  auto put = [&](size_t at, std::vector<int32_t> words) {
    std::memcpy(buffer.data() + at, words.data(), 4 * words.size());
  };
  put(8 * 3, {1, 1});  // program 1, iteration 1
  put(128 + 16 * 3, {5, 6});
  put(8 * 4, {1, 0});  // program 2, iteration 0
  put(128 + 16 * 4, {7, 8});
  put(48 + 4 * 2, {6});  // of which the sixth iteration was the last
  Recording recording = decode(insertion, buffer, {});
  const Series& s = recording.series[0];
  CHECK_EQ(s.size(), size_t{2});
  CHECK_EQ(s.programs[0][0], 1);
  CHECK_EQ(s.iterations, (std::vector<int64_t>{1, 0}));
  std::vector<int32_t> values(4);
  std::memcpy(values.data(), s.data.data(), 16);
  CHECK_EQ(values, (std::vector<int32_t>{5, 6, 7, 8}));
  CHECK_EQ(s.dropped, 4);
  const std::array<int64_t, 3> asked[] = {{1, -1, -1}};
  CHECK_EQ(decode(insertion, buffer, asked).series[0].size(), size_t{1});
  buffer.pop_back();  // too short: nothing is read
  CHECK_EQ(decode(insertion, buffer, {}).series.size(), size_t{0});
}

}  // namespace triton_runner::probe
