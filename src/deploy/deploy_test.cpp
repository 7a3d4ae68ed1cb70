// Tests packages: what an index may say, which variant a launch takes, and launches on the fake CUDA and the
// CPU.
#include <triton_runner/deploy/deploy.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include <triton_runner/artifact/artifact.h>

#include "../device/fake_cuda.h"
#include "index.h"
#include "test.h"

using namespace triton_runner;
using namespace triton_runner::deploy;
namespace fake = device::fake;

namespace {

constexpr const char* kPtx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(
  .param .u64 .ptr .global .align 1 scale_param_0,
  .param .u32 scale_param_1,
  .param .f32 scale_param_2,
  .param .u64 .ptr .global .align 1 scale_param_3,
  .param .u64 .ptr .global .align 1 scale_param_4
)
.reqntid 32
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<4>;
  ld.param.b64 %rd1, [scale_param_0];
  ld.param.b32 %r1, [scale_param_1];
  ld.param.f32 %f1, [scale_param_2];
  mov.u32 %r2, %tid.x;
  setp.lt.s32 %p1, %r2, %r1;
  mul.wide.s32 %rd2, %r2, 4;
  add.s64 %rd1, %rd1, %rd2;
  @%p1 ld.global.f32 %f2, [%rd1];
  mul.f32 %f3, %f2, %f1;
  @%p1 st.global.f32 [%rd1], %f3;
  ret;
}
)";
constexpr const char* kTtir = R"(module {
  tt.func public @scale(%x_ptr: !tt.ptr<f32>, %n: i32, %factor: f32) {
    %at = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %size = tt.splat %n : i32 -> tensor<32xi32>
    %inside = arith.cmpi slt, %at, %size : tensor<32xi32>
    %base = tt.splat %x_ptr : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
    %ptrs = tt.addptr %base, %at : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    %x = tt.load %ptrs, %inside : tensor<32x!tt.ptr<f32>>
    %factors = tt.splat %factor : f32 -> tensor<32xf32>
    %scaled = arith.mulf %x, %factors : tensor<32xf32>
    tt.store %ptrs, %scaled, %inside : tensor<32x!tt.ptr<f32>>
    tt.return
  }
}
)";
constexpr const char* kMetadata =
    R"({"name": "scale", "num_warps": 1, "num_ctas": 1, "shared": 0, "target": {"backend": "cuda", "arch": 80,
     "warp_size": 32}, "global_scratch_size": 0, "global_scratch_align": 1, "profile_scratch_size": 0,
     "profile_scratch_align": 1})";

// A folder with kPtx and kTtir, removed at the end.
struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/deploy_test_XXXXXX";
    path = mkdtemp(name);
    write("scale.ptx", kPtx);
    write("scale.ttir", kTtir);
    write("scale.json", kMetadata);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, std::string_view text) const {
    CHECK(artifact::write_file(path + "/" + name, text).ok());
  }
};

// A variant with all that an index needs; `more` comes last, so that it may say things again.
std::string variant(const std::string& target, const std::string& types, const std::string& constants,
                    const std::string& more = "", const std::string& level = "ptx") {
  return R"({"symbol": "scale", "target": ")" + target + R"(", "files": {")" + level + R"(": "scale.)" +
         level + R"("}, "metadata": "scale.json", "types": {)" + types + R"(}, "constants": {)" + constants +
         "}" + (more.empty() ? "" : ", " + more) + "}";
}
constexpr const char* kTypes = R"("x_ptr": "*fp32", "n": "i32", "factor": "fp32")";

std::string index_of(const std::vector<std::string>& variants) {
  std::string list;
  for (const std::string& v : variants) list += (list.empty() ? "" : ", ") + v;
  return R"({"format": 1, "kernels": [{"name": "scale", "parameters": ["x_ptr", "n", "factor", "BLOCK"],
    "variants": [)" +
         list + "]}]}";
}

struct OnFake {
  fake::State state;
  std::unique_ptr<device::Driver> driver;
  OnFake() {
    fake::state = &state;
    driver = device::make_cuda_driver(fake::api());
    state.memory = {{0x1000, 0}, {0x1008, 0}, {0x2000, 1}};
    state.param_bytes = {8, 4, 4, 8, 8};
  }
  Device device() {
    auto made = Device::gpu(*driver);
    CHECK(made.ok());
    return *made;
  }
};

Kernel kernel_of(const Folder& folder, const std::vector<std::string>& variants, const Device& device) {
  folder.write("index.json", index_of(variants));
  auto package = Package::open(folder.path);
  if (!package) CHECK_EQ(package.error().str(), "");
  auto kernel = package->kernel("scale", device);
  if (!kernel) CHECK_EQ(kernel.error().str(), "");
  return *kernel;
}

std::string picked(const Kernel& kernel, std::initializer_list<Argument> arguments) {
  auto found = kernel.pick(arguments);
  return found ? (*found)->str() : found.error().str();
}
std::string text(const exec::LaunchResult& result) { return result ? result->str() : "launched"; }
bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

float* const kMemory = reinterpret_cast<float*>(0x1000);
float* const kOdd = reinterpret_cast<float*>(0x1008);

}  // namespace

TEST(what_an_index_may_say) {
  struct {
    std::string index, error;
  } bad[] = {
      {"{", "malformed JSON"},
      {"{}", "format is missing"},
      {R"({"format": 2})", "format 2, and this program reads formats up to 1"},
      {R"({"format": 1})", "kernels is missing"},
      {R"({"format": 1, "kernels": [{"name": 3}]})", "kernels[0].name is not a text"},
      {index_of({"{}"}), "kernels[0].variants[0].symbol is missing"},
      {index_of({variant("cuda:80", kTypes, "")}),
       "variants[0].types.BLOCK is missing: given in exactly one of"},
      {index_of({variant("cuda:80", kTypes, R"("BLOCK": 32, "n": 1)")}),
       "types.n is not given in exactly one of"},
      {index_of({variant("cuda:80", kTypes, R"("BLOCK": [])")}), "constants.BLOCK is not a number"},
      {index_of({variant("cuda:80", kTypes, R"("BLOCK": 32, "M": 1)")}),
       "constants.M is not one of the kernel's"},
      {index_of({variant("cuda:80", R"("x_ptr": "*fp32", "n": "i33", "factor": "fp32")", R"("BLOCK": 32)")}),
       "types.n is not a type"},
      {index_of({variant("cuda:80", kTypes, R"("BLOCK": 32)", R"("metadata": "../scale.json")")}),
       "metadata is not the name of a file in the folder"},
      {index_of({variant("cuda:80", kTypes, R"("BLOCK": 32)", R"("files": {"ptx": "/etc/passwd"})")}),
       "files.ptx is not the name of a file in the folder"},
      {index_of({variant("cuda:80", kTypes, R"("BLOCK": 32)", R"("multiples_of_16": 16)")}),
       "multiples_of_16 is not a list"},
  };
  for (const auto& row : bad) {
    auto parsed = parse_index(row.index, "index.json");
    CHECK(!parsed.ok());
    if (!parsed.ok() && !has(parsed.error().str(), row.error)) CHECK_EQ(parsed.error().str(), row.error);
  }
  CHECK(has(Package::open("/nowhere").error().str(), "triton-runner export"));
}

TEST(types_of_arguments) {
  auto kind = [](const char* type) {
    auto p = parameter_of("x", type);
    return p ? std::to_string(static_cast<int>(p->kind)) + ":" + std::to_string(p->bits) : "none";
  };
  CHECK_EQ(kind("*fp32"), "0:64");
  CHECK_EQ(kind("i1"), "1:1");
  CHECK_EQ(kind("u64"), "1:64");
  CHECK_EQ(kind("fp16"), "2:16");
  CHECK_EQ(kind("bf16"), "2:16");
  CHECK_EQ(kind("f64"), "2:64");
  CHECK_EQ(kind("tensordesc<fp16[64,64]>"), "3:0");
  for (const char* type : {"", "i", "i7", "bf32", "float", "constexpr", "i32x"}) CHECK_EQ(kind(type), "none");
}

TEST(the_most_special_variant_that_fits_is_taken) {
  OnFake on;
  Folder folder;
  const std::string aligned = R"("multiples_of_16": ["x_ptr", "n"])";
  Kernel kernel = kernel_of(
      folder,
      {variant("cuda:80", kTypes, R"("BLOCK": 32)"), variant("cuda:80", kTypes, R"("BLOCK": 32)", aligned),
       variant("cuda:80", kTypes, R"("BLOCK": 64)"),
       variant("cuda:80", R"("x_ptr": "*fp32", "factor": "fp32")", R"("BLOCK": 32, "n": 1)"),
       variant("cuda:80", R"("x_ptr": "*fp16", "n": "i64", "factor": "fp32")", R"("BLOCK": 32)")},
      on.device());
  const std::string plain = "ptx for cuda:80, BLOCK=32",
                    special = plain + ", x_ptr a multiple of 16, n a multiple of 16";
  CHECK_EQ(picked(kernel, {kMemory, 32, 2.0}), special);
  CHECK_EQ(picked(kernel, {{"factor", 2.0f}, {"n", 32}, {"x_ptr", kMemory}}), special);
  CHECK_EQ(picked(kernel, {kMemory, 33, 2.0}), plain);
  CHECK_EQ(picked(kernel, {kOdd, 32, 2.0}), plain);
  CHECK_EQ(picked(kernel, {kMemory, 1, 2.0}), "ptx for cuda:80, BLOCK=32, n=1");
  CHECK_EQ(picked(kernel, {kMemory, 32, 2.0, 64}), "ptx for cuda:80, BLOCK=64");
  CHECK_EQ(picked(kernel, {reinterpret_cast<uint16_t*>(kMemory), 32, 2.0}), plain);
  CHECK(has(picked(kernel, {kMemory, int64_t{1} << 40, 2.0}), "none of its 5 variants for cuda:90"));
}

TEST(the_devices_own_code_comes_first) {
  auto on = std::make_unique<OnFake>();
  Folder folder;
  auto exact = [](const char* target, const char* level) {
    return variant(target, kTypes, R"("BLOCK": 32)", R"("exact_target": true)", level);
  };
  auto order = [&](const std::vector<std::string>& variants) {
    std::string out;
    const Kernel kernel = kernel_of(folder, variants, on->device());
    for (const Variant* v : kernel.variants()) out += v->level() + " " + v->target() + "; ";
    return out;
  };
  auto plain = [](const char* target, const char* level) {
    return variant(target, kTypes, R"("BLOCK": 32)", "", level);
  };
  CHECK_EQ(order({plain("cuda:75", "ptx"), plain("cuda:80", "ptx"), plain("cuda:80", "cubin"),
                  exact("cuda:100", "cubin"), exact("cuda:90", "cubin"), plain("hip:gfx942", "hsaco"),
                  plain("cuda:100", "ptx"), plain("cuda:90", "ttir")}),
           "cubin cuda:90; ptx cuda:80; ptx cuda:75; ");
  on = std::make_unique<OnFake>();  // a driver remembers its devices
  on->state.attributes[75] = 8, on->state.attributes[76] = 9;
  CHECK_EQ(order({plain("cuda:80", "cubin"), plain("cuda:86", "cubin"), exact("cuda:87", "cubin"),
                  plain("cuda:90", "cubin")}),
           "cubin cuda:86; cubin cuda:80; ");
  folder.write("index.json", index_of({plain("cuda:90", "cubin")}));
  const std::string none = Package::open(folder.path)->kernel("scale", on->device()).error().str();
  CHECK(has(none, "has no code that runs on cuda:89") && has(none, "there is: cubin for cuda:90"));
  const std::string unknown = Package::open(folder.path)->kernel("scael", on->device()).error().str();
  CHECK(has(unknown, "did you mean scale?"));
}

TEST(wrong_arguments_are_named) {
  OnFake on;
  Folder folder;
  Kernel kernel = kernel_of(
      folder, {variant("cuda:80", kTypes, R"("BLOCK": 32)", R"("multiples_of_16": ["n"])")}, on.device());
  struct {
    std::string got, wanted;
  } rows[] = {
      {picked(kernel, {{"x_ptr", kMemory}, {"m", 3}}), "kernel 'scale' has no parameter 'm'"},
      {picked(kernel, {{"x_ptr", kMemory}, {"fcator", 3}}), "did you mean factor?"},
      {picked(kernel, {kMemory, 16, 1.0, 32, 5}), "has 4 parameters, and 5 arguments were given"},
      {picked(kernel, {{"x_ptr", kMemory}, {"n", 16}, {"n", 16}}), "argument 'n' is given twice"},
      {picked(kernel, {{"x_ptr", kMemory}, {"n", 16}}), "argument 'factor' (fp32): it is missing"},
      {picked(kernel, {kMemory, 100, 1.0}), "argument 'n' (i32): 100 is not a multiple of 16"},
      {picked(kernel, {kMemory, 1.5, 1.0}), "argument 'n' (i32): it is 1.5, and an integer is needed"},
      {picked(kernel, {kMemory, int64_t{1} << 33, 1.0}), "8589934592 does not fit into 32 bits"},
      {picked(kernel, {5, 16, 1.0}), "argument 'x_ptr' (*fp32): it is 5, and a pointer is needed"},
      {picked(kernel, {reinterpret_cast<double*>(kMemory), 16, 1.0}),
       "it points to elements of 64 bits (floats)"},
      {picked(kernel, {kMemory, 16, "text"}), "it is \"text\", and a number is needed"},
      {picked(kernel, {kMemory, 16, 1.0, 64}),
       "argument 'BLOCK': it is 64, and the code was compiled for 32"},
  };
  for (const auto& row : rows)
    if (!has(row.got, row.wanted)) CHECK_EQ(row.got, row.wanted);
  CHECK(has(text(kernel.launch({0}, {kMemory, 16, 1.0})), "axis x must be"));
  const Argument few[] = {kMemory};
  CHECK(has(text(kernel.launch(*kernel.variants()[0], {1}, few)), "argument 'n' (i32): it is missing"));
  auto* elsewhere = reinterpret_cast<float*>(0x2000);
  CHECK(has(text(kernel.launch({1}, {elsewhere, 16, 1.0})), "lies on device 1"));
  CHECK_EQ(text(kernel.launch({1}, {elsewhere, 16, 1.0}, {.check_pointers = false})), "launched");
}

TEST(a_launch_on_a_gpu) {
  OnFake on;
  Folder folder;
  const std::vector<std::string> variants = {variant("cuda:80", kTypes, R"("BLOCK": 32)")};
  Kernel kernel = kernel_of(folder, variants, on.device());
  CHECK_EQ(on.state.count("cuModuleLoadDataEx"), 0);
  auto grid = [](const Variant& v) { return Grid{(100 + v.number("BLOCK") - 1) / v.number("BLOCK"), 2}; };
  CHECK_EQ(text(kernel.launch(grid, {{"n", 100}, {"x_ptr", kMemory}, {"factor", 3}}, {.stream = 7})),
           "launched");
  CHECK_EQ(text(kernel.launch({1}, {kMemory, 100, 0.5})), "launched");
  CHECK_EQ(on.state.count("cuModuleLoadDataEx"), 1);
  CHECK_EQ(on.state.launches.size(), size_t{2});
  const fake::Launch& launch = on.state.launches[0];
  CHECK_EQ(launch.config.grid_x, 4u);
  CHECK_EQ(launch.config.grid_y, 2u);
  CHECK_EQ(launch.config.block_x, 32u);
  CHECK_EQ(reinterpret_cast<uint64_t>(launch.config.stream), 7u);
  uint64_t pointer = 0;
  uint32_t n = 0;
  float factor = 0;
  std::memcpy(&pointer, launch.params[0].data(), 8);
  std::memcpy(&n, launch.params[1].data(), 4);
  std::memcpy(&factor, launch.params[2].data(), 4);
  CHECK_EQ(pointer, 0x1000u);
  CHECK_EQ(n, 100u);
  CHECK_EQ(factor, 3.0f);
  on.state.errors["cuModuleLoadDataEx"] = 209;
  Kernel broken = kernel_of(folder, variants, on.device());
  CHECK(has(text(broken.launch({1}, {kMemory, 100, 0.5})), "CUDA_ERROR_NO_BINARY_FOR_GPU"));
  folder.write("scale.ptx", "no PTX at all");
  CHECK(!kernel_of(folder, variants, on.device()).prepare(*broken.variants()[0]).ok());
}

TEST(a_launch_on_the_cpu) {
  Folder folder;
  for (const char* level : {"ttir", "ptx"}) {
    Kernel kernel =
        kernel_of(folder, {variant("cuda:80", kTypes, R"("BLOCK": 32)", "", level)}, Device::cpu());
    std::vector<float> x(20, 1.5f);
    CHECK_EQ(text(kernel.launch({1}, {{"x_ptr", std::span(x)}, {"n", 20}, {"factor", 2}})), "launched");
    CHECK_EQ(x[0], 3.0f);
    CHECK_EQ(x[19], 3.0f);
    CHECK(has(text(kernel.launch({1}, {x.data(), 20, 2.0})), "give a std::span or a Buffer"));
    const std::string trap = text(kernel.launch({1}, {std::span(x), 21, 2.0}));
    CHECK(has(trap, "out of bounds") && has(trap, "argument 'x_ptr' (80 bytes)"));
    std::span<const float> constant(x);
    CHECK(has(text(kernel.launch({1}, {constant, 20, 2.0})), "out of bounds"));
  }
}

TEST(a_single_artifact) {
  OnFake on;
  Folder folder;
  std::vector<float> x(20, 1.5f);
  auto cpu = deploy::load(folder.path + "/scale.ttir", Device::cpu());
  CHECK(cpu.ok());
  CHECK_EQ(text(cpu->launch({1}, {{"factor", 2.0}, {"x_ptr", std::span(x)}, {"n", 20}})), "launched");
  CHECK_EQ(x[19], 3.0f);
  auto gpu = deploy::load(folder.path + "/scale.ptx", on.device());
  CHECK(gpu.ok());
  CHECK_EQ(gpu->parameters().size(), size_t{3});  // the scratch pointers are Triton's own
  CHECK_EQ(text(gpu->launch({1}, {kMemory, 20, 2.0})), "launched");
  CHECK_EQ(text(gpu->launch({1}, {kMemory, 21, 2.0})), "launched");
  CHECK_EQ(on.state.count("cuModuleLoadDataEx"), 1);
  CHECK(has(text(gpu->launch({1}, {kMemory, 20})), "2 arguments do not fit"));
  CHECK(has(text(gpu->launch({1}, {20, kMemory, 2.0})), "a tensor"));
  CHECK(has(deploy::load("kernel.py", on.device()).error().str(), "does not say a level"));
}

TEST(memory_of_a_device) {
  OnFake on;
  for (const Device& device : {on.device(), Device::cpu()}) {
    auto buffer = device.allocate(16);
    CHECK(buffer.ok());
    const int in[4] = {1, 2, 3, 4};
    CHECK(buffer->write(in).ok());
    int out[4] = {};
    CHECK(buffer->read(out).ok());
    if (device.is_cpu()) CHECK_EQ(out[3], 4);
    CHECK_EQ(Value(*buffer).bytes(), size_t{16});
    CHECK(device.synchronize().ok());
  }
  CHECK_EQ(on.state.count("cuMemFreeAsync"), 1);
}

TEST(threads_share_a_kernel) {
  Folder folder;
  Kernel kernel =
      kernel_of(folder, {variant("cuda:80", kTypes, R"("BLOCK": 32)", "", "ttir")}, Device::cpu());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      std::vector<float> x(32, 1.0f);
      for (int i = 0; i < 20; i++)
        CHECK_EQ(text(kernel.launch({1}, {std::span(x), 32, 2.0}, {.threads = 1})), "launched");
      CHECK_EQ(x[31], 1048576.0f);
    });
  for (std::thread& thread : threads) thread.join();
}
