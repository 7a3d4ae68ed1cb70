// Tests GPU kernels over the fake CUDA: packing, hidden parameters, what is refused before the driver sees
// it.
#include <bit>
#include <cstring>
#include <thread>

#include <triton_runner/launch/gpu_kernel.h>

#include "../device/fake_cuda.h"
#include "test.h"

using namespace triton_runner;
using namespace triton_runner::launch;
using exec::Argument;
using exec::Param;
using exec::ParamKind;
namespace fake = device::fake;

namespace {

struct Fixture {
  fake::State state;
  std::unique_ptr<device::Driver> driver;
  GpuKernelSpec spec;
  Fixture() {
    fake::state = &state;
    driver = device::make_cuda_driver(fake::api());
    spec.image =
        "\x7f"
        "ELF";
    spec.name = "k";
    spec.level = "cubin";
    spec.target = "cuda:90";
    state.memory = {{0x1000, 0}, {0x2000, 1}, {0x3000, -1}};
  }
  std::unique_ptr<GpuKernel> load() {
    auto kernel = launch::load(*driver, spec);
    CHECK(kernel.ok());
    return kernel.ok() ? std::move(*kernel) : nullptr;
  }
  std::string refusal() {
    auto kernel = launch::load(*driver, spec);
    CHECK(!kernel.ok());
    return kernel.ok() ? "" : kernel.error().str();
  }
};

Argument pointer(uint64_t address) { return {ParamKind::kPointer, address, {}}; }
Argument integer(int64_t value) { return {ParamKind::kInteger, static_cast<uint64_t>(value), {}}; }
Argument real(double value) { return {ParamKind::kFloat, std::bit_cast<uint64_t>(value), {}}; }
uint64_t number(const std::vector<unsigned char>& bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min<size_t>(bytes.size(), 8));
  return value;
}
bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }
std::string error_of(const exec::LaunchResult& result) {
  CHECK(result.has_value());
  return result && result->diagnostic ? result->diagnostic->str() : "";
}

}  // namespace

TEST(arguments_are_packed_as_the_kernel_takes_them) {
  Fixture f;
  f.spec.params = {{"p", ParamKind::kPointer, "*fp32"},   {"i", ParamKind::kInteger, "i32", 32},
                   {"l", ParamKind::kInteger, "i64", 64}, {"h", ParamKind::kFloat, "fp16", 16},
                   {"b", ParamKind::kFloat, "bf16", 16},  {"f", ParamKind::kFloat, "fp32", 32},
                   {"d", ParamKind::kFloat, "fp64", 64},  {"t", ParamKind::kInteger, "i1", 1}};
  f.spec.hidden_pointers = 2;
  f.state.param_bytes = {8, 4, 8, 2, 2, 4, 8, 1, 8, 8};
  auto kernel = f.load();
  std::vector<Argument> args = {pointer(0x1000),
                                integer(-5),
                                integer(int64_t{1} << 40),
                                real(1.5),
                                real(1.0 + 1.0 / 128 + 1.0 / 256),
                                real(0.1),
                                real(0.1),
                                integer(1)};
  exec::LaunchOptions options;
  options.grid = {3, 2, 1};
  options.stream = 0x77;
  CHECK(!kernel->launch(options, args, {}));
  const fake::Launch& launch = f.state.launches.at(0);
  CHECK_EQ(launch.config.grid_x, 3u);
  CHECK_EQ(launch.config.block_x, 128u);
  CHECK_EQ(launch.config.stream, fake::handle(0x77));
  CHECK_EQ(number(launch.params[0]), 0x1000u);
  CHECK_EQ(static_cast<int32_t>(number(launch.params[1])), -5);
  CHECK_EQ(number(launch.params[2]), uint64_t{1} << 40);
  CHECK_EQ(number(launch.params[3]), 0x3e00u);
  CHECK_EQ(number(launch.params[4]), 0x3f81u);  // cut off, as Triton's launchers do
  CHECK_EQ(number(launch.params[5]), 0x3dcccccdu);
  CHECK_EQ(number(launch.params[6]), std::bit_cast<uint64_t>(0.1));
  CHECK_EQ(number(launch.params[7]), 1u);
  CHECK_EQ(number(launch.params[8]), 0u);  // no scratch asked for
  CHECK_EQ(number(launch.params[9]), 0u);
  CHECK_EQ(f.state.count("cuMemAllocAsync"), 0);
}

TEST(scratch_is_allocated_per_block_and_freed_in_stream_order) {
  Fixture f;
  f.spec.hidden_pointers = 2;
  f.spec.global_scratch = {100, 128};
  f.spec.profile_scratch = {16, 1024};
  f.spec.cluster = {2, 1, 1};
  f.state.param_bytes = {8, 8};
  auto kernel = f.load();
  exec::LaunchOptions options;
  options.grid = {3, 2, 1};
  CHECK(!kernel->launch(options, {}, {}));
  const fake::Launch& launch = f.state.launches.at(0);
  CHECK_EQ(launch.config.grid_x, 6u);
  CHECK_EQ(number(launch.params[0]), 0x7f0000000000u);
  uint64_t second = 0x7f0000000000u + 100 * 12;
  CHECK_EQ(number(launch.params[1]), (second + 1023) / 1024 * 1024);
  CHECK_EQ(f.state.next_address, second + 16 * 12 + 1024);
  CHECK_EQ(f.state.count("cuMemsetD8Async"), 1);
  CHECK_EQ(f.state.count("cuMemFreeAsync"), 2);
  CHECK(f.state.calls.back() == "cuMemFreeAsync");
}

TEST(tensor_descriptors_whole_and_in_pieces) {
  Fixture f;
  f.spec.params = {{"n", ParamKind::kInteger, "i32", 32},
                   {"desc", ParamKind::kTensorDesc, "tensordesc<fp16[64,64]>"}};
  f.spec.descriptors = {{3, 2, 10, {64, 64}, false}};
  f.state.param_bytes = {4, 128, 4, 4, 8, 8};
  std::vector<Argument> args = {
      integer(9), {ParamKind::kTensorDesc, 0, exec::TensorDesc{0x1000, {100, 256}, {256, 1}, false}}};
  CHECK(!f.load()->launch({}, args, {}));
  const auto& whole = f.state.launches.at(0).params;
  CHECK_EQ(static_cast<int>(whole[1][0]), 0xff);
  CHECK_EQ(number(whole[2]), 100u);
  CHECK_EQ(number(whole[5]), 1u);
  CHECK_EQ(f.state.map.type, 9);  // the host's number of the device's 10
  CHECK_EQ(f.state.map.swizzle, 3);
  args[1].descriptor->round_to_tf32 = true;
  f.spec.descriptors = {{3, 4, 7, {64, 32}, false}};
  CHECK(!f.load()->launch({}, args, {}));
  CHECK_EQ(f.state.map.type, 11);

  f.spec.descriptors.clear();
  f.spec.descriptor_flags = 2;
  f.state.param_bytes = {4, 8, 8, 8, 8, 8, 1, 1, 4, 4, 8, 8};
  CHECK(!f.load()->launch({}, args, {}));
  const auto& pieces = f.state.launches.at(2).params;
  CHECK_EQ(number(pieces[1]), 0x1000u);
  CHECK_EQ(number(pieces[3]), 256u);
  CHECK_EQ(number(pieces[6]), 0u);  // the padding, then the rounding
  CHECK_EQ(number(pieces[7]), 1u);
  CHECK_EQ(number(pieces[8]), 100u);

  f.spec.descriptors = {{3, 2, 10, {64, 512}, false}};
  CHECK(has(error_of(f.load()->launch({}, args, {})), "argument 'desc': tensor descriptor: block size 512"));
  f.spec.descriptors.push_back(f.spec.descriptors[0]);
  CHECK(has(f.refusal(), "takes 1 tensor descriptors, and its metadata's tensordesc_meta has 2"));
}

TEST(tensor_descriptors_in_im2col_mode) {
  Fixture f;
  f.spec.params = {{"desc", ParamKind::kTensorDesc, "tensordesc_im2col<fp16[64,32]>"}};
  f.spec.descriptors = {{2, 2, 6, {64, 32}, false, true}};
  f.state.param_bytes = {128, 4, 4, 4, 8, 8, 8};
  exec::TensorDesc desc{0x1000, {2, 50, 64}, {3200, 64, 1}, false};
  desc.im2col = exec::Im2col{{-1}, {-2}, {}};
  std::vector<Argument> args = {{ParamKind::kTensorDesc, 0, desc}};
  CHECK(!f.load()->launch({}, args, {}));
  const auto& params = f.state.launches.at(0).params;
  CHECK_EQ(number(params[2]), 50u);
  CHECK_EQ(number(params[4]), 3200u);
  CHECK_EQ(f.state.map.upper[0], -2);
  CHECK_EQ(f.state.map.steps[1], 1u);
  args[0].descriptor->im2col->steps = {1, 2};
  CHECK(has(error_of(f.load()->launch({}, args, {})), "element_strides has 2 numbers"));
  args[0].descriptor->im2col.reset();
  CHECK(has(error_of(f.load()->launch({}, args, {})), "expected a TensorDescriptorIm2Col"));
}

TEST(tensor_maps_of_the_caller_are_copied) {
  Fixture f;
  f.spec.params = {{"n", ParamKind::kInteger, "i32", 32},
                   {"desc", ParamKind::kPointer, "nvTmaDesc"},
                   {"m", ParamKind::kInteger, "i32", 32}};
  f.state.param_bytes = {4, 128, 4};
  unsigned char map[128];
  for (int i = 0; i < 128; i++) map[i] = static_cast<unsigned char>(i);
  std::vector<Argument> args = {integer(1), pointer(reinterpret_cast<uint64_t>(map)), integer(2)};
  auto kernel = f.load();
  CHECK(!kernel->launch({}, args, {}));  // host memory, and right so
  CHECK(std::memcmp(f.state.launches.at(0).params[1].data(), map, 128) == 0);
  CHECK_EQ(number(f.state.launches[0].params[2]), 2u);
  args[1] = pointer(0);
  CHECK(has(error_of(kernel->launch({}, args, {})), "null pointer in place of a tensor map"));
}

TEST(shared_memory) {
  Fixture f;
  f.spec.shared_bytes = 40000;
  CHECK_EQ(f.load()->shared_bytes(), 40000);
  CHECK_EQ(f.state.max_dynamic_shared, 0);
  f.spec.shared_bytes = 200000;
  auto kernel = f.load();
  CHECK_EQ(f.state.max_dynamic_shared, 200000);
  CHECK(!kernel->launch({}, {}, {}));
  CHECK_EQ(f.state.launches.at(0).config.shared_bytes, 200000u);
  exec::LaunchOptions options;
  options.shared_bytes = 300000;
  CHECK(has(error_of(kernel->launch(options, {}, {})),
            "needs 300000 bytes of dynamic shared memory, and a block on Fake GPU has 232448"));
  f.spec.shared_bytes = 232449;
  CHECK(has(f.refusal(), "num_stages"));
  f.spec.shared_bytes = -1;  // nobody knows
  f.state.function_attributes[1] = 1000;
  kernel = f.load();
  CHECK_EQ(kernel->shared_bytes(), 231448);
  CHECK_EQ(kernel->warnings().size(), size_t{1});
  CHECK(has(kernel->warnings().at(0), "shared= or a metadata file says it"));
}

TEST(memory_of_another_device_is_refused) {
  Fixture f;
  f.spec.params = {{"x", ParamKind::kPointer, "*fp32"}};
  auto kernel = f.load();
  std::vector<Argument> args = {pointer(0x4000)};
  CHECK(has(error_of(kernel->launch({}, args, {})), "argument 'x' lies in memory that cuda:0 cannot reach"));
  args = {pointer(0x2000)};
  std::vector<exec::Allocation> memory = {{0x2000, 64, "argument 'x' (f32[16])"}};
  CHECK(has(error_of(kernel->launch({}, args, memory)),
            "argument 'x' (f32[16]) lies on device 1, and the kernel runs on cuda:0"));
  args = {pointer(0x3000)};  // pinned host memory
  CHECK(!kernel->launch({}, args, {}));
  args = {pointer(0)};
  CHECK(!kernel->launch({}, args, {}));
  CHECK_EQ(f.state.launches.size(), size_t{2});
}

TEST(bad_arguments_and_grids) {
  Fixture f;
  f.spec.params = {{"n", ParamKind::kInteger, "i32", 32}};
  auto kernel = f.load();
  std::vector<Argument> args = {integer(int64_t{1} << 33)};
  CHECK(has(error_of(kernel->launch({}, args, {})), "'n'"));
  args = {real(1)};
  CHECK(has(error_of(kernel->launch({}, args, {})), "'n'"));
  CHECK(kernel->launch({}, {}, {}).has_value());
  args = {integer(1)};
  exec::LaunchOptions options;
  options.grid = {0, 1, 1};
  CHECK(kernel->launch(options, args, {}).has_value());
  options.grid = {1, 65536, 1};
  CHECK(kernel->launch(options, args, {}).has_value());
  CHECK(f.state.launches.empty());
  options.grid = {1, 65535, 1};
  CHECK(!kernel->launch(options, args, {}));
}

TEST(targets_against_the_device) {
  Fixture f;
  f.spec.target = "cuda:80";
  CHECK(has(f.refusal(), "is for cuda:80, and Fake GPU is cuda:90"));
  f.spec.level = "ptx";
  CHECK(f.load() != nullptr);  // text of an older architecture is compiled by the driver
  f.spec.target = "cuda:100";
  CHECK(has(f.refusal(), "above ptx"));
  f.spec.target = "hip:gfx942";
  CHECK(has(f.refusal(), "enter at ttir"));
}

TEST(block_sizes_and_clusters) {
  Fixture f;
  f.spec.block = {64, 16, 2};
  CHECK(has(f.refusal(), "2048 threads a block"));
  f.spec.block = {512, 1, 1};
  f.state.function_attributes[0] = 256;
  CHECK(has(f.refusal(), "its code allows 256"));
  f.spec.block = {256, 1, 1};
  f.spec.cluster = {16, 1, 1};
  CHECK(f.load() != nullptr);
  CHECK(f.state.count("cuFuncSetAttribute") == 1);  // clusters above 8 blocks are asked for
  f.spec.cluster = {32, 1, 1};
  CHECK(has(f.refusal(), "cluster of 32 blocks"));
  Fixture old;
  old.state.attributes.erase(120);
  old.spec.cluster = {2, 1, 1};
  CHECK(has(old.refusal(), "has none"));
}

TEST(another_device_current_on_the_thread) {
  Fixture f;
  auto loaded = launch::load(*f.driver, f.spec, 1);
  CHECK(loaded.ok());
  CHECK(f.driver->use_device(0).ok());
  CHECK(!(*loaded)->launch({}, {}, {}));
  CHECK_EQ((*loaded)->device(), 1);
  CHECK_EQ(f.state.current, 0);  // as it was
}

TEST(failed_launches_explain_themselves_and_free_their_scratch) {
  Fixture f;
  f.spec.hidden_pointers = 1;
  f.spec.global_scratch = {64, 1};
  f.spec.cooperative = true;
  auto kernel = f.load();
  f.state.errors["cuLaunchKernelEx"] = 720;
  std::string text = error_of(kernel->launch({}, {}, {}));
  CHECK(has(text, "cuLaunchKernelEx: CUDA_ERROR_FAKE: a made-up failure"));
  CHECK(has(text, "kernel 'k', grid (1, 1, 1), block (128, 1, 1)"));
  CHECK(has(text, "264 blocks of this kernel do"));
  CHECK_EQ(f.state.count("cuMemFreeAsync"), 1);
  f.state.errors["cuMemAllocAsync"] = 2;
  CHECK(has(error_of(kernel->launch({}, {}, {})), "cuMemAllocAsync"));
}

TEST(modules_are_unloaded) {
  Fixture f;
  {
    auto kernel = f.load();
  }
  CHECK_EQ(f.state.count("cuModuleUnload"), 1);
  f.state.errors["cuModuleGetFunction"] = 500;
  CHECK(has(f.refusal(), "looked for the kernel 'k'"));
  CHECK_EQ(f.state.count("cuModuleUnload"), 2);
}

TEST(a_function_of_triton_is_launched_by_words) {
  Fixture f;
  f.spec.params = {{"p", ParamKind::kPointer, "*fp32"},
                   {"i", ParamKind::kInteger, "i32", 32},
                   {"h", ParamKind::kFloat, "fp16", 16}};
  f.spec.hidden_pointers = 2;
  f.spec.image.clear();
  f.spec.cluster = {2, 1, 1};
  f.state.param_bytes = {8, 4, 2, 8, 8};
  auto kernel = launch::adopt(*f.driver, f.spec, 0x7777, 0);
  CHECK(kernel.ok());
  CHECK_EQ(f.state.count("cuModuleLoadDataEx"), 0);
  CHECK((*kernel)->takes_words());
  const uint64_t bits[] = {0x1000, static_cast<uint64_t>(-5), std::bit_cast<uint64_t>(1.5)};
  CHECK((*kernel)->queue({3, 2, 1}, 0x55, bits).ok());
  const fake::Launch& launch = f.state.launches.at(0);
  CHECK_EQ(number(launch.params[0]), 0x1000u);
  CHECK_EQ(number(launch.params[1]), 0xfffffffbu);
  CHECK_EQ(number(launch.params[2]), 0x3e00u);
  CHECK_EQ(number(launch.params[3]), 0u);
  CHECK_EQ(launch.config.grid_x, 6u);
  CHECK_EQ(reinterpret_cast<uint64_t>(launch.config.stream), 0x55u);
  f.state.errors["cuLaunchKernelEx"] = 700;
  auto failed = (*kernel)->queue({3, 2, 1}, 0, bits);
  CHECK(!failed.ok());
  CHECK(has(failed.error().str(), "cuLaunchKernelEx") && has(failed.error().str(), "grid (6, 2, 1)"));
  kernel->reset();
  CHECK_EQ(f.state.count("cuModuleUnload"), 0);  // Triton's to unload
}

TEST(what_needs_more_than_words_says_so) {
  Fixture f;
  f.spec.params = {{"p", ParamKind::kPointer, "nvTmaDesc"}};
  CHECK(!f.load()->takes_words());
  f.spec.params = {{"p", ParamKind::kPointer, "*fp32"}};
  CHECK(f.load()->takes_words());
  f.spec.hidden_pointers = 1;
  f.spec.global_scratch.bytes_per_block = 64;
  CHECK(!f.load()->takes_words());
}

TEST(threads_launch_one_kernel_together) {
  Fixture f;
  f.spec.params = {{"i", ParamKind::kInteger, "i64", 64}};
  f.state.param_bytes = {8};
  auto kernel = f.load();
  constexpr uint64_t kThreads = 8, kLaunches = 500;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kLaunches; i++) {
        const uint64_t bits[] = {t * kLaunches + i};
        if (!kernel->queue({1, 1, 1}, t, bits)) std::abort();
      }
    });
  for (std::thread& thread : threads) thread.join();
  uint64_t sum = 0;
  for (const fake::Launch& launch : f.state.launches) {
    CHECK_EQ(number(launch.params[0]) / kLaunches, reinterpret_cast<uint64_t>(launch.config.stream));
    sum += number(launch.params[0]);
  }
  CHECK_EQ(f.state.launched, kThreads * kLaunches);
  CHECK_EQ(sum, kThreads * kLaunches * (kThreads * kLaunches - 1) / 2);
}
