// Adds an op: its row (ops.def beside this), its handler, its case, and rules of shapes, shadows and races
// only where its effects do not say enough; an opcode (opcodes.def); and a release: its row (releases.def).
// The files that expand the tables are compiled again with these rows; every other one is the library's, so
// that what works here needs no change there: parsing, printing, the verifier, translation, the engine, and
// the checks, which go by effects and by the names of operands.
#include <triton_runner/ir/module.h>
#include <triton_runner/ir/op_table.h>
#include <triton_runner/ir/translate.h>
#include <triton_runner/tile/tile.h>

#include <algorithm>
#include <numeric>

#include "lowering.h"
#include "test.h"

namespace triton_runner::tile {
namespace {

// The handler of test.mean.
const Instr* run_mean(Task& t, const Instr& in) {
  const auto *a = static_cast<const float*>(t.dense(in.operand(0))),
             *b = static_cast<const float*>(t.dense(in.operand(1)));
  auto* out = static_cast<float*>(t.output(in));
  for (int64_t i = 0; i < t.type(in.result()).n; ++i) out[i] = (a[i] + b[i]) / 2;
  return next(in);
}

}  // namespace

void lower_test_mean(Lowering& l, const ir::Op& op) { l.emit(run_mean, op); }

// test.ragged_copy: as test.block_copy, but the last element of the buffer stays as it was, and the copy is waited for as
// stores are.
void shadow_test_ragged_copy(ShadowRule& r) {
  std::vector<uint8_t> undefined(static_cast<size_t>(r.in.op->operand_of("result")->type->num_elements()));
  undefined.back() = 1;
  r.lands("result", "barrier", undefined);
}

bool race_test_ragged_copy(RaceRule& r) {
  RaceThread& copy = r.beside();
  r.begin(RaceRule::Queue::kStores, copy);
  return r.writes(copy, "result");
}

}  // namespace triton_runner::tile

namespace triton_runner::ir {

std::string shape_test_ragged_copy(const Op& op) {
  const Type* to = op.operand_of("result")->type;
  return to->num_elements() > 1 ? "" : "test.ragged_copy leaves nothing of " + std::string(to->text);
}

}  // namespace triton_runner::ir

using namespace triton_runner;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  return text.replace(at, from.size(), to);
}

base::Result<std::unique_ptr<exec::Kernel>> loaded(const std::string& text) {
  auto module = ir::parse(text, "test.ttir");
  if (!module) return module.error();
  return tile::load(std::make_shared<ir::Module>(std::move(module).value()));
}

// Returns what the launch says of x (read) and y (written); 8 elements each.
std::optional<exec::LaunchError> run(const std::string& text, uint32_t checks, std::vector<float>& x,
                                     std::vector<float>& y) {
  auto kernel = loaded(text);
  CHECK(kernel.ok());
  if (!kernel) return std::nullopt;
  exec::Argument args[2];
  exec::Allocation allocations[2];
  std::vector<float>* both[] = {&x, &y};
  for (int i = 0; i < 2; ++i) {
    const auto address = reinterpret_cast<uint64_t>(both[i]->data());
    args[i] = {exec::ParamKind::kPointer, address, {}};
    allocations[i] = {address, both[i]->size() * sizeof(float), i ? "y" : "x", true};
  }
  exec::LaunchOptions options;
  options.checks = checks;
  auto error = (*kernel)->launch(options, args, allocations);
  if (error && !error->trap) unit::record_failure(__FILE__, __LINE__, error->str());
  return error;
}

const std::string kMean = R"(module {
  tt.func public @kernel(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %six = arith.constant dense<6> : tensor<8xi32>
    %mask = arith.cmpi slt, %i, %six : tensor<8xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %p = tt.addptr %xs, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %q = tt.addptr %ys, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %a = tt.load %p, %mask : tensor<8x!tt.ptr<f32>>
    %two = arith.constant dense<2.000000e+00> : tensor<8xf32>
    %m = test.mean %a, %two : tensor<8xf32>
    tt.store %q, %m, %mask : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
)";

const std::string kCopy = R"(#line = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#buffer = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 32, rank = 1}>
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @kernel(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %zero = arith.constant 0 : i32
    %true = arith.constant true
    %size = arith.constant 8 : i32
    %one = arith.constant 1 : i64
    %desc = tt.make_tensor_descriptor %x, [%size], [%one] : !tt.ptr<f32>, !tt.tensordesc<8xf32, #buffer>
    %barrier = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #line, #smem, mutable>
    ttng.init_barrier %barrier, 1 : !ttg.memdesc<1xi64, #line, #smem, mutable>
    %to = ttg.local_alloc : () -> !ttg.memdesc<8xf32, #buffer, #smem, mutable>
    ttng.barrier_expect %barrier, 32, %true : !ttg.memdesc<1xi64, #line, #smem, mutable>
    test.block_copy %desc[%zero] to %to, %barrier, %true : !tt.tensordesc<8xf32, #buffer>, !ttg.memdesc<1xi64, #line, #smem, mutable> -> !ttg.memdesc<8xf32, #buffer, #smem, mutable>
    ttng.wait_barrier %barrier, %zero : !ttg.memdesc<1xi64, #line, #smem, mutable>
    %v = ttg.local_load %to : !ttg.memdesc<8xf32, #buffer, #smem, mutable> -> tensor<8xf32, #blocked>
    %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32, #blocked>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>, #blocked>
    %q = tt.addptr %ys, %i : tensor<8x!tt.ptr<f32>, #blocked>, tensor<8xi32, #blocked>
    tt.store %q, %v : tensor<8x!tt.ptr<f32>, #blocked>
    tt.return
  }
}
)";
const std::string kWait =
    "    ttng.wait_barrier %barrier, %zero : !ttg.memdesc<1xi64, #line, #smem, mutable>\n";

}  // namespace

TEST(invented_rows_are_listed_behind_those_of_3_9) {
  const ir::OpInfo& row = ir::op_info(ir::OpKind::kInventedMean);
  CHECK_EQ(row.since, ir::release(3, 10));
  CHECK(row.since > ir::release(3, 9) && row.until == ir::kNow);
  CHECK(ir::find_op("test.mean") == ir::OpKind::kInventedMean);
}

TEST(invented_release_is_the_last_and_differs_as_its_row_says) {
  const auto table = ir::release_table();
  const ir::ReleaseInfo &last = table.back(), &before = table[table.size() - 2];
  CHECK_EQ(ir::spelled(last.version), "3.10");
  CHECK(last.version > before.version);
  CHECK_EQ(last.hidden_pointers, before.hidden_pointers + 1);
  CHECK_EQ(last.run_field, before.run_field);
}

TEST(invented_release_writes_and_reads_texts) {
  auto copy = ir::parse(replaced(kMean, "test.mean %a, %two", "arith.addf %a, %two"), "test.ttir");
  const std::vector<ir::Release> writers = ir::written_by(*copy);
  CHECK_EQ(writers.front(), ir::release_table().front().version);
  CHECK(std::ranges::find(writers, ir::release(3, 10)) != writers.end());
  auto mean = ir::parse(kMean, "test.ttir");
  CHECK_EQ(ir::written_by(*mean).front(), ir::release(3, 10));
  CHECK(ir::translate(*mean, ir::release(3, 10)).ok());
  auto older = ir::translate(*mean, ir::release(3, 9));
  CHECK(!older.ok() && older.error().message.find("Triton 3.9 has no op test.mean") == 0);
}

TEST(invented_elementwise_op_parses_prints_and_runs) {
  auto module = ir::parse(kMean, "test.ttir");
  CHECK(module.ok());
  CHECK(module->print_canonical().find("test.mean %a, %two : tensor<8xf32>") != std::string::npos);
  std::vector<float> x(8), y(8, -1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  CHECK(!run(kMean, exec::kCheckOutOfBounds, x, y));
  for (int i = 0; i < 8; ++i) CHECK_EQ(y[i], i < 6 ? (x[i] + 2) / 2 : -1.0f);
}

TEST(invented_elementwise_op_is_verified) {
  auto kernel = loaded(replaced(kMean,
                                "%two = arith.constant dense<2.000000e+00> : tensor<8xf32>\n    %m = "
                                "test.mean %a, %two : tensor<8xf32>",
                                "%two = arith.constant dense<2.000000e+00> : tensor<4xf32>\n    %m = "
                                "\"test.mean\"(%a, %two) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>"));
  CHECK(!kernel.ok());
  if (!kernel)
    CHECK(kernel.error().message.find("test.mean of tensor<8xf32> and tensor<4xf32>") != std::string::npos);
}

TEST(invented_elementwise_op_is_followed_by_the_checks) {
  std::vector<float> x(8, 1.0f), y(8);
  // Elements 6 and 7 of the load are undefined, and of the mean these alone.
  CHECK(!run(kMean, exec::kCheckUninitialized, x, y));
  auto error =
      run(replaced(kMean, "tt.store %q, %m, %mask", "tt.store %q, %m"), exec::kCheckUninitialized, x, y);
  CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kUninitialized);
  if (error && error->trap) CHECK_EQ(error->trap->element[0], 6);
  x[3] = 3e38f, x[4] = -x[3];
  const std::string sum = replaced(kMean, "test.mean %a, %two", "test.mean %a, %a");
  error = run(sum, exec::kCheckInf, x, y);
  CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kNan);
  if (error && error->trap) CHECK_EQ(error->trap->element[0], 3);
}

TEST(invented_async_op_runs) {
  std::vector<float> x(8), y(8);
  std::iota(x.begin(), x.end(), 1.0f);
  CHECK(!run(kCopy, exec::kCheckUninitialized | exec::kCheckRace, x, y));
  CHECK(x == y);
}

TEST(invented_async_op_without_a_wait_is_found) {
  std::vector<float> x(8), y(8);
  const std::string hasty = replaced(kCopy, kWait, "");
  auto error = run(hasty, exec::kCheckRace, x, y);
  CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kRace);
  error = run(hasty, exec::kCheckUninitialized, x, y);
  CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kUninitialized);
}

namespace {
const std::string kRagged = replaced(kCopy, "test.block_copy", "test.ragged_copy");
const std::string kStoreWait = "    ttng.async_tma_store_wait {pendings = 0 : i32}\n";
}  // namespace

TEST(invented_shape_rule_is_asked) {
  std::string one = kRagged;
  for (size_t at; (at = one.find("8xf32")) != std::string::npos;) one.replace(at, 5, "1xf32");
  const auto kernel = loaded(one);
  CHECK(!kernel.ok());
  if (!kernel)
    CHECK(kernel.error().message.find("test.ragged_copy leaves nothing of !ttg.memdesc<1xf32") !=
          std::string::npos);
}

TEST(invented_shadow_rule_is_asked) {
  std::vector<float> x(8, 1.0f), y(8);
  auto error = run(kRagged, exec::kCheckUninitialized, x, y);
  CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kUninitialized);
  if (error && error->trap) CHECK_EQ(error->trap->element[0], 7);
}

TEST(invented_race_rule_is_asked) {
  std::vector<float> x(8, 1.0f), y(8);
  // Its barrier does not order it, as that of test.block_copy does.
  auto error = run(kRagged, exec::kCheckRace, x, y);
  CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kRace);
  CHECK(!run(replaced(kRagged, kWait, kWait + kStoreWait), exec::kCheckRace, x, y));
}
