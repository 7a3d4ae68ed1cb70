// Tests the limits of a launch: steps, and bytes of tiles.
#include "loaded_kernel.h"
#include "test.h"

using namespace triton_runner;
using tile::load_text, tile::memory, tile::pointer;

namespace {

// One program that adds 1 to x[0] for ever; and one that makes a tile of 4 MiB by adding two.
const char* const kCountsForEver = R"(
module {
  tt.func public @endless(%x: !tt.ptr<i32>) {
    %true = arith.constant true
    %one = arith.constant 1 : i32
    cf.br ^bb1
  ^bb1:
    %old = tt.load %x : !tt.ptr<i32>
    %new = arith.addi %old, %one : i32
    tt.store %x, %new : !tt.ptr<i32>
    cf.cond_br %true, ^bb1, ^bb2
  ^bb2:
    tt.return
  }
}
)";

// Needs whole tiles: a transposed one cannot go in strips.
const char* const kLarge = R"(
module {
  tt.func public @large(%x: !tt.ptr<i32>) {
    %offsets = tt.make_range {end = 262144 : i32, start = 0 : i32} : tensor<262144xi32>
    %base = tt.splat %x : !tt.ptr<i32> -> tensor<262144x!tt.ptr<i32>>
    %ptrs = tt.addptr %base, %offsets : tensor<262144x!tt.ptr<i32>>, tensor<262144xi32>
    %v = tt.load %ptrs : tensor<262144x!tt.ptr<i32>>
    %w = tt.reshape %v : tensor<262144xi32> -> tensor<512x512xi32>
    %t = tt.trans %w {order = array<i32: 1, 0>} : tensor<512x512xi32> -> tensor<512x512xi32>
    %u = tt.reshape %t : tensor<512x512xi32> -> tensor<262144xi32>
    tt.store %ptrs, %u : tensor<262144x!tt.ptr<i32>>
    tt.return
  }
}
)";

}  // namespace

TEST(a_step_limit_names_the_op) {
  auto kernel = load_text(kCountsForEver);
  for (int threads : {1, 2}) {
    std::vector<int32_t> x(1);
    exec::Argument args[] = {pointer(x)};
    exec::Allocation allocations[] = {memory(x)};
    exec::LaunchOptions options;
    options.threads = threads;
    options.grid = {threads, 1, 1};
    options.max_steps = 1000;
    auto error = kernel->launch(options, args, allocations);
    CHECK(error && error->trap);
    CHECK(error->trap->kind == exec::TrapKind::kTimeout);
    CHECK(error->trap->location.line > 0);
    CHECK(error->trap->message.find("executed 1000 instructions") != std::string::npos);
    CHECK(x[0] > 100 && x[0] < 500);
  }
}

TEST(a_memory_limit_names_the_op) {
  auto kernel = load_text(kLarge);
  std::vector<int32_t> x(262144);
  x[1] = 3;
  exec::Argument args[] = {pointer(x)};
  exec::Allocation allocations[] = {memory(x)};
  exec::LaunchOptions options;
  options.threads = 1;
  options.max_tile_bytes = 1 << 19;
  auto error = kernel->launch(options, args, allocations);
  CHECK(error && error->trap);
  CHECK(error->trap->kind == exec::TrapKind::kOutOfMemory);
  CHECK_EQ(error->trap->location.line, 7u);
  CHECK(error->trap->message.find("max_tile_bytes") != std::string::npos);
  CHECK_EQ(x[1], 3);
  options.max_tile_bytes = 0;  // the thread's pool forgets the limit
  CHECK(!kernel->launch(options, args, allocations));
  CHECK_EQ(x[1], 0);
  CHECK_EQ(x[512], 3);
}

// Many programs need what one needs: each worker keeps the tiles of the program that it runs.
TEST(many_programs_hold_the_tiles_of_one_a_worker) {
  auto kernel = load_text(kLarge);
  std::vector<int32_t> x(262144);
  exec::Argument args[] = {pointer(x)};
  exec::Allocation allocations[] = {memory(x)};
  auto fits = [&](int64_t programs, int threads, int64_t bytes) {
    exec::LaunchOptions options;
    options.grid = {programs, 1, 1};
    options.threads = threads;
    options.max_tile_bytes = bytes;
    return !kernel->launch(options, args, allocations);
  };
  int64_t low = 0, high = 64 << 20;  // does not fit, fits
  CHECK(fits(1, 1, high));
  while (high - low > 1) (fits(1, 1, (low + high) / 2) ? high : low) = (low + high) / 2;
  CHECK(high >= 1 << 20);       // a tile of 512 x 512 i32
  CHECK(high < 5 * (1 << 20));  // the loaded tile, the transposed one, addresses in strips
  CHECK(fits(64, 1, high));
  CHECK(!fits(64, 1, high - 1));
  CHECK(fits(64, 2, 2 * high));
}
