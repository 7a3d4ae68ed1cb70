// Tests the CUDA and HIP drivers over fake tables of functions: which calls they make, and what they say when
// one fails.
#include <algorithm>

#include <triton_runner/device/driver.h>
#include <triton_runner/device/hip_api.h>

#include "fake_cuda.h"
#include "test.h"

using namespace triton_runner;
using namespace triton_runner::device;

namespace {

struct Fixture {
  fake::State state;
  std::unique_ptr<Driver> driver;
  Fixture() {
    fake::state = &state;
    driver = make_cuda_driver(fake::api());
  }
};

// A copy: a reference into a temporary Result dies with it.
template <class T>
T take(Result<T> result) {
  CHECK(result.ok());
  return result.ok() ? *result : T{};
}

bool mentions(const base::Diagnostic& d, const std::string& what) {
  return d.str().find(what) != std::string::npos;
}

}  // namespace

TEST(cuda_properties) {
  Fixture f;
  auto p = f.driver->properties(1);
  CHECK(p.ok());
  CHECK_EQ(p->target, "cuda:90");
  CHECK_EQ(p->name, "Fake GPU");
  CHECK_EQ(p->shared_per_block_optin, 232448);
  CHECK(p->clusters && p->cooperative);
  f.state.attributes.erase(120);  // a driver that knows no clusters
  CHECK(!take(f.driver->properties(0)).clusters);
  Fixture g;
  g.state.attributes.erase(97);
  CHECK(
      mentions(g.driver->properties(0).error(), "cuDeviceGetAttribute: CUDA_ERROR_FAKE: a made-up failure"));
  g.state.attributes[97] = 232448;
  CHECK(g.driver->properties(0).ok());  // what failed is not remembered
}

TEST(cuda_context_is_the_primary_one_and_retained_once) {
  Fixture f;
  CHECK_EQ(take(f.driver->current_device()), 0);  // the thread had none
  CHECK_EQ(f.state.current, 0);
  CHECK(f.driver->use_device(1).ok());
  CHECK(f.driver->use_device(0).ok());
  CHECK(f.driver->use_device(1).ok());
  CHECK_EQ(take(f.driver->current_device()), 1);
  CHECK_EQ(f.state.count("cuDevicePrimaryCtxRetain"), 2);
  CHECK_EQ(f.state.count("cuInit"), 1);
  CHECK(mentions(f.driver->use_device(2).error(), "there is no CUDA device 2: this machine has 2"));
}

TEST(cuda_init_failure_names_the_call) {
  Fixture f;
  f.state.errors["cuInit"] = 100;
  CHECK(mentions(f.driver->device_count().error(), "cuInit: CUDA_ERROR_FAKE"));
}

TEST(cuda_text_is_passed_with_its_end) {
  Fixture f;
  std::string both = ".version 8.0\n.entry k() {}garbage behind the view";
  CHECK(f.driver->load_module(std::string_view(both).substr(0, 25)).ok());
  CHECK_EQ(f.state.image, both.substr(0, 25));
}

TEST(cuda_compiler_log_becomes_notes_and_a_place) {
  Fixture f;
  f.state.errors["cuModuleLoadDataEx"] = 218;
  f.state.jit_log =
      "ptxas application ptx input, line 3; error   : Unknown symbol 'x'\nptxas fatal   : aborted\n";
  auto m = f.driver->load_module("one\ntwo\nthree x\nfour\n");
  CHECK(!m.ok());
  CHECK_EQ(m.error().location.line, 3);
  CHECK_EQ(m.error().source_line, "three x");
  CHECK_EQ(m.error().notes.size(), size_t{2});
  CHECK(mentions(m.error(), "Unknown symbol 'x'"));
}

TEST(cuda_wrong_architecture_says_what_to_do) {
  Fixture f;
  f.state.errors["cuModuleLoadDataEx"] = 209;
  auto m = f.driver->load_module(
      "\x7f"
      "ELF");
  CHECK(mentions(m.error(), "cuModuleLoadDataEx: CUDA_ERROR_NO_BINARY_FOR_GPU"));
  CHECK(mentions(m.error(), "another architecture"));
}

TEST(cuda_plain_launch_and_attributes) {
  Fixture f;
  LaunchConfig config;
  config.grid = {7, 2, 1};
  config.block = {128, 1, 1};
  config.shared_bytes = 512;
  config.stream = 0x55;
  CHECK(f.driver->launch(0x3000, config, nullptr).ok());
  CHECK(f.state.launches.at(0).attributes.empty());
  CHECK_EQ(f.state.launches[0].config.grid_x, 7u);
  CHECK_EQ(f.state.launches[0].config.shared_bytes, 512u);
  CHECK_EQ(f.state.launches[0].config.stream, fake::handle(0x55));

  config.cooperative = config.pdl = true;
  config.cluster = {2, 1, 1};
  CHECK(f.driver->launch(0x3000, config, nullptr).ok());
  const fake::Launch& launch = f.state.launches.at(1);
  CHECK(launch.extended);
  std::vector<uint32_t> ids;
  for (const auto& a : launch.attributes) ids.push_back(a.id);
  CHECK(ids == (std::vector<uint32_t>{6, 2, 4, 5}));  // PDL, cooperative, cluster, its policy
  CHECK_EQ(launch.attributes[2].value.dim.x, 2u);
  CHECK_EQ(launch.attributes[3].value.number, 1);
}

TEST(cuda_11_driver_without_extended_launch) {
  Fixture f;
  CudaApi old = fake::api();
  old.cuLaunchKernelEx = nullptr;
  auto driver = make_cuda_driver(old);
  LaunchConfig config;
  CHECK(driver->launch(0x3000, config, nullptr).ok());
  CHECK(!f.state.launches.at(0).extended);
  config.pdl = true;
  CHECK(mentions(driver->launch(0x3000, config, nullptr).error(), "no cuLaunchKernelEx"));
}

TEST(cuda_sticky_error_says_that_the_process_is_lost) {
  Fixture f;
  f.state.errors["cuStreamSynchronize"] = 700;
  auto s = f.driver->synchronize(0);
  CHECK(mentions(s.error(), "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS"));
  CHECK(mentions(s.error(), "restarted"));
}

TEST(cuda_pointers) {
  Fixture f;
  f.state.memory = {{0x100, 1}, {0x200, -1}};
  CHECK(take(f.driver->pointer(0x100))->device == 1);
  CHECK(take(f.driver->pointer(0x200))->device == -1);
  CHECK(!take(f.driver->pointer(0x300)).has_value());
}

TEST(cuda_tensor_map_order_and_checks) {
  Fixture f;
  TensorMapSpec spec{0x1000, 6, 2, 3, {64, 128}, {100, 256}, {264, 1}, true};
  auto map = f.driver->encode_tensor_map(spec);
  CHECK(map.ok());
  CHECK_EQ(f.state.map.rank, 2);
  CHECK_EQ(f.state.map.shape[0], 256u);  // innermost first
  CHECK_EQ(f.state.map.shape[1], 100u);
  CHECK_EQ(f.state.map.strides[0], 528u);  // bytes
  CHECK_EQ(f.state.map.box[0], 128u);
  CHECK_EQ(f.state.map.fill, 1);
  CHECK_EQ(static_cast<int>(map->bytes[10]), 0xdf);  // the bit of small tensors, up to CUDA 13.1
  f.state.version = 13020;
  CHECK_EQ(static_cast<int>(take(f.driver->encode_tensor_map(spec)).bytes[10]), 0xff);

  auto refused = [&](auto change, const char* what) {
    TensorMapSpec bad = spec;
    change(bad);
    auto result = f.driver->encode_tensor_map(bad);
    CHECK(!result.ok());
    if (!result.ok()) CHECK(mentions(result.error(), what));
  };
  refused([](auto& s) { s.address = 0x1008; }, "multiple of 16");
  refused([](auto& s) { s.box[0] = 512; }, "block size 512 of dimension 0");
  refused([](auto& s) { s.strides[0] = 260; }, "520 bytes");
  refused([](auto& s) { s.strides[1] = 2; }, "last dimension");
  refused([](auto& s) { s.shape.pop_back(); }, "rank 2");
  refused([](auto& s) { s.box.assign(6, 1); }, "rank 6");
}

TEST(cuda_tensor_map_in_im2col_mode) {
  Fixture f;
  TensorMapSpec spec{0x1000, 6, 2, 3, {128, 64}, {2, 3, 40, 64}, {7680, 2560, 64, 1}, false};
  spec.im2col = true;
  spec.lower = {-1, -2}, spec.upper = {1, -3}, spec.steps = {1, 2, 3, 1};
  auto map = f.driver->encode_tensor_map(spec);
  CHECK(map.ok());
  CHECK_EQ(static_cast<int>(map->bytes[10]), 0xff);
  CHECK_EQ(f.state.map.rank, 4);
  CHECK_EQ(f.state.map.shape[1], 40u);
  CHECK_EQ(f.state.map.strides[0], 128u);
  CHECK_EQ(f.state.map.box[0], 64u);  // channels
  CHECK_EQ(f.state.map.box[1], 128u);
  CHECK_EQ(f.state.map.lower[0], -2);  // W first
  CHECK_EQ(f.state.map.upper[1], 1);
  CHECK_EQ(f.state.map.steps[1], 3u);
  spec.steps.pop_back();
  CHECK(mentions(f.driver->encode_tensor_map(spec).error(), "a step for each"));
  spec.steps.push_back(1), spec.box[0] = 2048;
  CHECK(mentions(f.driver->encode_tensor_map(spec).error(), "2048 of dimension 0 is not in 1 .. 1024"));
}

TEST(open_driver_without_a_library) {
  auto missing = open_driver("cuda", "/nonexistent/libcuda.so.1");
  CHECK(!missing.ok());
  CHECK(mentions(missing.error(), "cannot open /nonexistent/libcuda.so.1"));
  CHECK(mentions(open_driver("metal").error(), "no GPU driver is called 'metal'"));
}

// ---- HIP
// ------------------------------------------------------------------------------------------------------

namespace {

struct HipState {
  std::vector<std::string> calls;
  unsigned grid_x = 0, block_x = 0, shared = 0;
  hip::Error load_error = 0;
  std::vector<std::pair<uint32_t, int>> attributes;
} hip_state;

HipApi fake_hip() {
  using namespace hip;
  HipApi a;
  a.hipInit = [](unsigned) { return 0; };
  a.hipDriverGetVersion = [](int* v) { return *v = 60342134, 0; };
  a.hipGetDeviceCount = [](int* n) { return *n = 1, 0; };
  a.hipGetDevice = [](int* d) { return *d = 0, 0; };
  a.hipSetDevice = [](int d) { return d == 0 ? 0 : 101; };
  a.hipDeviceGetAttribute = [](int* v, int attribute, int) {
    return *v = attribute == kWarpSize ? 64 : attribute == kMaxSharedPerBlock ? 65536 : 304, 0;
  };
  a.hipGetDevicePropertiesR0600 = [](DeviceProperties* p, int) {
    std::strcpy(p->name, "AMD Instinct MI300X");
    std::strcpy(p->gcn_arch_name, "gfx942:sramecc+:xnack-");
    return 0;
  };
  a.hipModuleLoadDataEx = [](Handle* m, const void*, unsigned, int*, void**) {
    return *m = fake::handle(1), hip_state.load_error;
  };
  a.hipModuleUnload = [](Handle) { return 0; };
  a.hipModuleGetFunction = [](Handle* f, Handle, const char*) { return *f = fake::handle(2), 0; };
  a.hipFuncGetAttribute = [](int* v, int attribute, Handle) {
    return *v = attribute == kFunctionMaxThreads ? 256 : 8, 0;
  };
  a.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor = [](int* n, Handle, int, size_t) {
    return *n = 4, 0;
  };
  a.hipModuleLaunchKernel = [](Handle, unsigned gx, unsigned, unsigned, unsigned bx, unsigned, unsigned,
                               unsigned shared, Handle, void**, void**) {
    hip_state.calls.push_back("launch");
    hip_state.grid_x = gx, hip_state.block_x = bx, hip_state.shared = shared;
    return 0;
  };
  a.hipModuleLaunchCooperativeKernel = [](Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                          unsigned, Handle, void**) {
    hip_state.calls.push_back("cooperative");
    return 0;
  };
  a.hipDrvLaunchKernelEx = [](const hip::LaunchConfig* config, Handle, void**, void**) {
    hip_state.calls.push_back("clusters");
    hip_state.grid_x = config->grid[0];
    for (unsigned i = 0; i < config->num_attributes; i++)
      hip_state.attributes.push_back({config->attributes[i].id, config->attributes[i].value[0]});
    return 0;
  };
  a.hipMallocAsync = [](void** p, size_t, Handle) { return *p = fake::handle(0x9000), 0; };
  a.hipFreeAsync = [](void*, Handle) { return 0; };
  a.hipMemsetAsync = [](void*, int, size_t, Handle) { return 0; };
  a.hipMemcpyHtoD = [](void*, void*, size_t) { return 0; };
  a.hipMemcpyDtoH = [](void*, void*, size_t) { return 0; };
  a.hipStreamSynchronize = [](Handle) { return 0; };
  a.hipPointerGetAttributes = [](PointerAttributes* out, const void* p) -> Error {
    if (p == fake::handle(0x300)) return kInvalidValue;
    *out = {p == fake::handle(0x200) ? kMemoryUnregistered : kMemoryDevice,
            0,
            const_cast<void*>(p),
            nullptr,
            0,
            0};
    return 0;
  };
  a.hipGetErrorName = [](Error) { return "hipErrorNoBinaryForGpu"; };
  a.hipGetErrorString = [](Error) { return "no kernel image"; };
  return a;
}

}  // namespace

TEST(hip_properties_launch_and_errors) {
  hip_state = {};
  auto driver = make_hip_driver(fake_hip());
  auto p = driver->properties(0);
  CHECK(p.ok());
  CHECK_EQ(p->target, "hip:gfx942");
  CHECK_EQ(p->name, "AMD Instinct MI300X");
  CHECK_EQ(p->warp_size, 64);
  LaunchConfig config;
  config.grid = {5, 1, 1};
  config.block = {256, 1, 1};
  config.shared_bytes = 100;
  CHECK(driver->launch(2, config, nullptr).ok());
  CHECK_EQ(hip_state.grid_x, 5u);  // blocks, not threads
  CHECK_EQ(hip_state.block_x, 256u);
  config.cooperative = true;
  CHECK(driver->launch(2, config, nullptr).ok());
  CHECK(hip_state.calls == (std::vector<std::string>{"launch", "cooperative"}));
  config.pdl = true;
  CHECK(mentions(driver->launch(2, config, nullptr).error(), "programmatic dependent launch"));
  CHECK(!driver->encode_tensor_map({}).ok());
  CHECK(take(driver->pointer(0x100))->device == 0);
  CHECK(!take(driver->pointer(0x200)).has_value());
  CHECK(!take(driver->pointer(0x300)).has_value());
  hip_state.load_error = 209;
  CHECK(mentions(driver
                     ->load_module("\x7f"
                                   "ELF")
                     .error(),
                 "hipModuleLoadDataEx: hipErrorNoBinaryForGpu: no kernel image"));
}

TEST(hip_clusters) {
  hip_state = {};
  HipApi api = fake_hip();
  LaunchConfig config;
  config.grid = {6, 1, 1};
  config.cluster = {2, 1, 1};
  config.cooperative = true;
  CHECK(!make_hip_driver(api)->properties(0)->clusters);  // gfx942 has none
  CHECK(make_hip_driver(api)->launch(2, config, nullptr).ok());
  CHECK(hip_state.calls == (std::vector<std::string>{"clusters"}));
  CHECK_EQ(hip_state.grid_x, 6u);
  CHECK(hip_state.attributes == (std::vector<std::pair<uint32_t, int>>{{4, 2}, {2, 1}}));
  api.hipDrvLaunchKernelEx = nullptr;  // an older HIP
  CHECK(mentions(make_hip_driver(api)->launch(2, config, nullptr).error(), "hipDrvLaunchKernelEx"));
}
