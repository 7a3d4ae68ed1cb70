// Tests what golden cases cannot reach: threads, time, observers, forks.
#include "loaded_kernel.h"
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <thread>

#include <triton_runner/exec/observer.h>

using namespace triton_runner;
using tile::load_text, tile::memory, tile::pointer;

namespace {

const char* const kAdd = R"(
module {
  tt.func public @add_kernel(%x_ptr: !tt.ptr<f32>, %y_ptr: !tt.ptr<f32>, %output_ptr: !tt.ptr<f32>, %n_elements: i32) attributes {noinline = false} {
    %block_start = arith.constant 1024 : i32
    %pid = tt.get_program_id x : i32
    %block_start_0 = arith.muli %pid, %block_start : i32
    %offsets = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %offsets_1 = tt.splat %block_start_0 : i32 -> tensor<1024xi32>
    %offsets_2 = arith.addi %offsets_1, %offsets : tensor<1024xi32>
    %mask = tt.splat %n_elements : i32 -> tensor<1024xi32>
    %mask_3 = arith.cmpi slt, %offsets_2, %mask : tensor<1024xi32>
    %x = tt.splat %x_ptr : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %x_4 = tt.addptr %x, %offsets_2 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %x_5 = tt.load %x_4, %mask_3 : tensor<1024x!tt.ptr<f32>>
    %y = tt.splat %y_ptr : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %y_6 = tt.addptr %y, %offsets_2 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %y_7 = tt.load %y_6, %mask_3 : tensor<1024x!tt.ptr<f32>>
    %output = arith.addf %x_5, %y_7 : tensor<1024xf32>
    %0 = tt.splat %output_ptr : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %1 = tt.addptr %0, %offsets_2 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    tt.store %1, %output, %mask_3 : tensor<1024x!tt.ptr<f32>>
    tt.return
  }
}
)";

}  // namespace

TEST(vector_add) {
  auto kernel = load_text(kAdd);
  CHECK(kernel != nullptr);
  const int n = 98432;
  std::vector<float> x(n), y(n), out(n);
  for (int i = 0; i < n; ++i) x[i] = static_cast<float>(i) * 0.5f, y[i] = static_cast<float>(i & 7);
  exec::Argument args[] = {pointer(x), pointer(y), pointer(out), {exec::ParamKind::kInteger, n, {}}};
  exec::Allocation allocations[] = {memory(x, "x"), memory(y, "y"), memory(out, "out")};
  for (int threads : {1, 2}) {
    std::fill(out.begin(), out.end(), -1.0f);
    exec::LaunchOptions options;
    options.grid = {(n + 1023) / 1024, 1, 1};
    options.threads = threads;
    auto error = kernel->launch(options, args, allocations);
    if (error) fprintf(stderr, "%s\n", error->str().c_str());
    CHECK(!error);
    bool same = true;
    for (int i = 0; i < n; ++i) same &= out[i] == x[i] + y[i];
    CHECK(same);
  }
}

TEST(out_of_bounds_is_a_trap_and_writes_nothing) {
  auto kernel = load_text(kAdd);
  std::vector<float> x(1024, 1), y(1024, 2), out(1000, -1);
  exec::Argument args[] = {pointer(x), pointer(y), pointer(out), {exec::ParamKind::kInteger, 1024, {}}};
  exec::Allocation allocations[] = {memory(x, "x"), memory(y, "y"),
                                    memory(out, "argument 'output_ptr' (f32[1000])")};
  auto error = kernel->launch({}, args, allocations);
  CHECK(error && error->trap);
  CHECK(error->trap->kind == exec::TrapKind::kOutOfBounds);
  CHECK_EQ(error->trap->element[0], 1000);
  CHECK_EQ(error->trap->op, std::string("tt.store"));
  for (float v : out) CHECK_EQ(v, -1.0f);
}

namespace {

const char* const kEndless = R"(
module {
  tt.func public @endless(%p: !tt.ptr<i32>) {
    scf.while : () -> () {
      %v = tt.load %p {isVolatile = true} : !tt.ptr<i32>
      %c0 = arith.constant 0 : i32
      %go = arith.cmpi eq, %v, %c0 : i32
      scf.condition(%go)
    } do {
      scf.yield
    }
    tt.return
  }
}
)";

const char* const kSum = R"(
module {
  tt.func public @sum(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (i32)  : i32 {
      %b = arith.addi %a, %i : i32
      scf.yield %b : i32
    }
    tt.print " s = " {hex = false, isSigned = array<i32: 1>} : %s : i32
    tt.store %p, %s : !tt.ptr<i32>
    tt.return
  }
}
)";

struct Recorder : exec::Observer {
  bool wants(const exec::ValueSite& site) override { return site.value_name == "b"; }
  void on_value(const exec::ValueEvent& e) override {
    std::lock_guard lock(mutex);
    values.push_back({e.program[0], e.iterations[0], *static_cast<const int32_t*>(e.data)});
  }
  void on_print(std::string_view text, const std::array<int64_t, 3>&) override {
    std::lock_guard lock(mutex);
    printed += text;
  }
  std::mutex mutex;
  std::vector<std::array<int64_t, 3>> values;
  std::string printed;
};

}  // namespace

TEST(timeout_stops_an_endless_kernel) {
  auto kernel = load_text(kEndless);
  std::vector<int32_t> x(1, 0);
  exec::Argument args[] = {pointer(x)};
  exec::Allocation allocations[] = {memory(x, "x")};
  for (int threads : {1, 2}) {
    exec::LaunchOptions options;
    options.grid = {4, 1, 1};
    options.threads = threads;
    options.timeout_seconds = 0.1;
    auto error = kernel->launch(options, args, allocations);
    CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kTimeout);
  }
}

TEST(stop_token_interrupts) {
  auto kernel = load_text(kEndless);
  std::vector<int32_t> x(1, 0);
  exec::Argument args[] = {pointer(x)};
  exec::Allocation allocations[] = {memory(x, "x")};
  exec::StopToken stop;
  exec::LaunchOptions options;
  options.stop = &stop;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  auto error = kernel->launch(options, args, allocations);
  other.join();
  CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kInterrupted);
}

TEST(observer_sees_each_iteration_and_what_is_printed) {
  auto kernel = load_text(kSum);
  std::vector<int32_t> x(1, 0);
  exec::Argument args[] = {pointer(x), {exec::ParamKind::kInteger, 4, {}}};
  exec::Allocation allocations[] = {memory(x, "x")};
  Recorder recorder;
  exec::LaunchOptions options;
  options.observer = &recorder;
  CHECK(!kernel->launch(options, args, allocations));
  CHECK_EQ(x[0], 6);
  CHECK_EQ(recorder.values.size(), size_t{4});
  int32_t sums[] = {0, 1, 3, 6};
  for (int i = 0; i < 4; ++i) {
    CHECK_EQ(recorder.values[i][1], i);
    CHECK_EQ(recorder.values[i][2], sums[i]);
  }
  CHECK_EQ(recorder.printed, std::string("pid (0, 0, 0) idx () s = 6\n"));
}

TEST(a_forked_child_launches_too) {
  auto kernel = load_text(kAdd);
  std::vector<float> x(4096, 1), y(4096, 2), out(4096, 0);
  exec::Argument args[] = {pointer(x), pointer(y), pointer(out), {exec::ParamKind::kInteger, 4096, {}}};
  exec::Allocation allocations[] = {memory(x, "x"), memory(y, "y"), memory(out, "out")};
  exec::LaunchOptions options;
  options.grid = {4, 1, 1};
  options.threads = 2;
  CHECK(!kernel->launch(options, args, allocations));
  pid_t child = fork();
  if (child == 0) {
    std::fill(out.begin(), out.end(), 0.0f);
    bool ok = !kernel->launch(options, args, allocations) && out[4095] == 3.0f;
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(wrong_arguments_are_diagnostics) {
  auto kernel = load_text(kSum);
  std::vector<int32_t> x(1, 0);
  exec::Allocation allocations[] = {memory(x, "x")};
  exec::Argument few[] = {pointer(x)};
  auto error = kernel->launch({}, few, allocations);
  CHECK(error && error->diagnostic);
  exec::Argument large[] = {pointer(x), {exec::ParamKind::kInteger, uint64_t{1} << 40, {}}};
  error = kernel->launch({}, large, allocations);
  CHECK(error && error->diagnostic);
  CHECK(error->diagnostic->message.find("'n'") != std::string::npos);
}
