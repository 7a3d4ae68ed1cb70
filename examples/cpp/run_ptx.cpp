// PTX on the CPU with the C++ API alone: no GPU, no Python, no Triton.
//
//   run_ptx                       adds two vectors with the kernel below
//   run_ptx x.ptx KERNEL GRID     runs a kernel of a file, which takes no arguments, and says what went wrong
//
// Build it:
//   cmake -S . -B build/cpp -DTRITON_RUNNER_PYTHON=OFF -DTRITON_RUNNER_TESTS=ON
//   cmake --build build/cpp --target run_ptx
#include <triton_runner/triton_runner.h>

#include <cstdio>
#include <cstdlib>

using namespace triton_runner;

static constexpr const char* kText = R"(
.version 8.0
.target sm_80
.address_size 64

.visible .entry add_kernel(
  .param .u64 .ptr .global .align 4 x,
  .param .u64 .ptr .global .align 4 y,
  .param .u64 .ptr .global .align 4 out,
  .param .u32 n
)
.reqntid 128
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<5>;

  ld.param.b32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r2, 128, %r3;
  setp.lt.s32 %p1, %r4, %r1;
  ld.param.b64 %rd1, [x];
  ld.param.b64 %rd2, [y];
  ld.param.b64 %rd3, [out];
  mul.wide.s32 %rd4, %r4, 4;
  add.s64 %rd1, %rd1, %rd4;
  add.s64 %rd2, %rd2, %rd4;
  add.s64 %rd3, %rd3, %rd4;
  @%p1 ld.global.f32 %f1, [%rd1];
  @%p1 ld.global.f32 %f2, [%rd2];
  add.rn.f32 %f3, %f1, %f2;
  @%p1 st.global.f32 [%rd3], %f3;
  ret;
}
)";

static int fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

static int run_file(const char* path, const char* name, const char* grid) {
  auto text = artifact::read_file(path);
  if (!text) return fail(text.error().str());
  auto module = ptx::parse(*text, path);
  if (!module) return fail(module.error().str());
  auto kernel = simt::load(*module, name);
  if (!kernel) return fail(kernel.error().str());
  exec::LaunchOptions options;
  options.grid = {std::atoll(grid), 1, 1};
  if (exec::LaunchResult error = (*kernel)->launch(options, {}, {})) return fail(error->str());
  std::printf("%s: done\n", (*kernel)->name().c_str());
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 4) return run_file(argv[1], argv[2], argv[3]);
  auto module = ptx::parse(kText, "add_kernel.ptx");
  if (!module) return fail(module.error().str());
  auto kernel = simt::load(*module);
  if (!kernel) return fail(kernel.error().str());

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
  options.grid = {(n + 127) / 128, 1, 1};
  if (exec::LaunchResult error = (*kernel)->launch(options, args, memory)) return fail(error->str());

  for (int i = 0; i < n; i++)
    if (out[i] != x[i] + y[i]) return fail("mismatch at element " + std::to_string(i));
  std::printf("%s: %d sums, all right\n", (*kernel)->name().c_str(), n);
  return 0;
}
