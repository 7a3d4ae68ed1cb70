#include "test.h"

#include <triton_runner/tile/tile.h>

#include <chrono>
#include <fstream>
#include <sstream>

using namespace triton_runner;

namespace {

std::unique_ptr<exec::Kernel> load_text(std::string text) {
  auto module = ir::parse(std::move(text), "test.ttir");
  if (!module) {
    fprintf(stderr, "%s\n", module.error().str().c_str());
    return nullptr;
  }
  auto kernel = tile::load(std::make_shared<ir::Module>(std::move(module).value()));
  if (!kernel) {
    fprintf(stderr, "%s\n", kernel.error().str().c_str());
    return nullptr;
  }
  return std::move(kernel).value();
}

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

template <class T>
exec::Argument pointer(std::vector<T>& v) {
  return {exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(v.data()), {}};
}
template <class T>
exec::Allocation memory(std::vector<T>& v, const char* label) {
  return {reinterpret_cast<uint64_t>(v.data()), v.size() * sizeof(T), label, true};
}

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
  exec::Allocation allocations[] = {memory(x, "x"), memory(y, "y"), memory(out, "argument 'output_ptr' (f32[1000])")};
  auto error = kernel->launch({}, args, allocations);
  CHECK(error && error->trap);
  CHECK(error->trap->kind == exec::TrapKind::kOutOfBounds);
  CHECK_EQ(error->trap->element[0], 1000);
  CHECK_EQ(error->trap->op, std::string("tt.store"));
  for (float v : out) CHECK_EQ(v, -1.0f);
}
