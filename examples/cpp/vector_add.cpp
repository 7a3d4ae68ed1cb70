// Vector addition from TTIR text, with the C++ API alone: no Python, no Triton, no GPU.
// Build it:
//   cmake -S . -B build/cpp -DTRITON_RUNNER_PYTHON=OFF -DTRITON_RUNNER_TESTS=ON
//   cmake --build build/cpp --target vector_add
#include <triton_runner/triton_runner.h>

#include <cstdio>

using namespace triton_runner;

static constexpr const char* kText = R"(module {
  tt.func public @add_kernel(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %c256 = arith.constant 256 : i32
    %pid = tt.get_program_id x : i32
    %start = arith.muli %pid, %c256 : i32
    %range = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
    %starts = tt.splat %start : i32 -> tensor<256xi32>
    %offsets = arith.addi %starts, %range : tensor<256xi32>
    %ns = tt.splat %n : i32 -> tensor<256xi32>
    %mask = arith.cmpi slt, %offsets, %ns : tensor<256xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %x_ptrs = tt.addptr %xs, %offsets : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    %a = tt.load %x_ptrs, %mask : tensor<256x!tt.ptr<f32>>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %y_ptrs = tt.addptr %ys, %offsets : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    %b = tt.load %y_ptrs, %mask : tensor<256x!tt.ptr<f32>>
    %sum = arith.addf %a, %b : tensor<256xf32>
    %outs = tt.splat %out : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %out_ptrs = tt.addptr %outs, %offsets : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    tt.store %out_ptrs, %sum, %mask : tensor<256x!tt.ptr<f32>>
    tt.return
  }
}
)";

static int fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

int main() {
  auto module = ir::parse(kText, "add_kernel.ttir");
  if (!module.ok()) return fail(module.error().str());
  auto kernel = tile::load(std::make_shared<ir::Module>(std::move(*module)));
  if (!kernel.ok()) return fail(kernel.error().str());

  constexpr int n = 1000;
  std::vector<float> x(n), y(n), out(n);
  for (int i = 0; i < n; i++) x[i] = 0.5f * static_cast<float>(i), y[i] = static_cast<float>(i % 8);
  std::vector<exec::Argument> args;
  std::vector<exec::Allocation> memory;
  for (std::vector<float>* tensor : {&x, &y, &out}) {
    auto address = reinterpret_cast<uint64_t>(tensor->data());
    args.push_back({exec::ParamKind::kPointer, address, {}});
    memory.push_back({address, n * sizeof(float), "argument #" + std::to_string(args.size()), true});
  }
  args.push_back({exec::ParamKind::kInteger, n, {}});
  exec::LaunchOptions options;
  options.grid = {(n + 255) / 256, 1, 1};
  if (exec::LaunchResult error = (*kernel)->launch(options, args, memory)) return fail(error->str());

  for (int i = 0; i < n; i++)
    if (out[i] != x[i] + y[i]) return fail("mismatch at element " + std::to_string(i));
  std::printf("%s: %d sums, all right\n", (*kernel)->name().c_str(), n);
  return 0;
}
