// Declares a fake CUDA for tests: a table of functions that record their calls and fail where they are told
// to. The real CudaDriver runs on it in the tests of device/ and launch/.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <triton_runner/device/cuda_api.h>

namespace triton_runner::device::fake {

struct Launch {
  cuda::LaunchConfig config{};
  std::vector<cuda::LaunchAttribute> attributes;
  bool extended = false;  // cuLaunchKernelEx
  std::vector<std::vector<unsigned char>> params;
};

struct State {
  std::vector<std::string> calls;             // names, in order
  std::map<std::string, cuda::Error> errors;  // what a call answers instead of 0
  std::map<int, int> attributes;              // of every device
  std::map<int, int> function_attributes{{0, 1024}, {1, 0}, {3, 16}, {4, 40}};
  std::map<uint64_t, int> memory;            // address -> device, -1 for the host's
  std::map<uint64_t, std::string> contents;  // by address, of what was copied there
  bool is_everywhere = false;                // any other address lies on device 0
  std::vector<size_t> param_bytes;           // what launches copy from each parameter
  std::vector<Launch> launches;
  std::string jit_log;
  std::string image;  // the last loaded
  int devices = 2, version = 13000;
  int current = -1;  // no context
  int max_dynamic_shared = 0;
  bool is_quiet = false;  // counts launches and writes nothing down
  int64_t busy_ns = 0;    // of each launch, one after the other, as those of one context are
  uint64_t launched = 0;
  std::mutex mutex;    // of what is written down
  std::mutex context;  // of a launch
  uint64_t next_address = 0x7f0000000000;
  struct {
    int type, rank, swizzle, fill;
    uint64_t shape[5], strides[5];
    uint32_t box[5];
    int lower[3], upper[3];
    uint32_t steps[5];
  } map{};

  State() {
    attributes = {{1, 1024},     {8, 49152},   {10, 32},       {12, 65536}, {13, 1980000}, {16, 132},
                  {36, 3201000}, {37, 6144},   {38, 62914560}, {75, 9},     {76, 0},       {81, 233472},
                  {95, 1},       {97, 232448}, {115, 1},       {120, 1}};
  }
  bool knows(uint64_t address) const { return is_quiet || is_everywhere || memory.contains(address); }
  int count(const std::string& name) const {
    int n = 0;
    for (const std::string& call : calls) n += call == name;
    return n;
  }
};
inline State* state = nullptr;  // of the running test

inline cuda::Error answer(const char* name) {
  if (state->is_quiet && state->errors.empty()) return 0;
  std::lock_guard lock(state->mutex);
  if (!state->is_quiet) state->calls.push_back(name);
  auto it = state->errors.find(name);
  return it == state->errors.end() ? 0 : it->second;
}
#define ANSWER(name) \
  if (cuda::Error code_ = answer(name)) return code_

inline void keep_busy() {
  if (state->busy_ns == 0) return;
  std::lock_guard lock(state->context);
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(state->busy_ns);
  while (std::chrono::steady_clock::now() < until) {
  }
}

inline void record(Launch launch, void** params) {
  keep_busy();
  std::lock_guard lock(state->mutex);
  state->launched++;
  if (state->is_quiet) return;
  for (size_t i = 0; i < state->param_bytes.size(); i++) {
    auto* bytes = static_cast<unsigned char*>(params[i]);
    launch.params.emplace_back(bytes, bytes + state->param_bytes[i]);
  }
  state->launches.push_back(std::move(launch));
}

inline cuda::Handle handle(uint64_t value) { return reinterpret_cast<cuda::Handle>(value); }

inline void add_devices(CudaApi& a) {
  using namespace cuda;
  a.cuInit = [](unsigned) { return answer("cuInit"); };
  a.cuDriverGetVersion = [](int* v) { return *v = state->version, answer("cuDriverGetVersion"); };
  a.cuGetErrorName = [](Error e, const char** s) {
    return *s = e == 209   ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
                : e == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                           : "CUDA_ERROR_FAKE",
           0;
  };
  a.cuGetErrorString = [](Error, const char** s) { return *s = "a made-up failure", 0; };
  a.cuDeviceGetCount = [](int* n) { return *n = state->devices, answer("cuDeviceGetCount"); };
  a.cuDeviceGet = [](int* d, int i) { return *d = i, answer("cuDeviceGet"); };
  a.cuDeviceGetName = [](char* s, int n, int) {
    return std::strncpy(s, "Fake GPU", n), answer("cuDeviceGetName");
  };
  a.cuDeviceGetAttribute = [](int* v, int attribute, int) -> Error {
    ANSWER("cuDeviceGetAttribute");
    auto it = state->attributes.find(attribute);
    if (it == state->attributes.end()) return kInvalidValue;
    *v = it->second;
    return 0;
  };
  a.cuDevicePrimaryCtxRetain = [](Handle* c, int d) {
    return *c = handle(0x1000 + d), answer("cuDevicePrimaryCtxRetain");
  };
  a.cuCtxGetCurrent = [](Handle* c) {
    return *c = state->current < 0 ? nullptr : handle(0x1000 + state->current), answer("cuCtxGetCurrent");
  };
  a.cuCtxSetCurrent = [](Handle c) -> Error {
    ANSWER("cuCtxSetCurrent");
    state->current = static_cast<int>(reinterpret_cast<uint64_t>(c) - 0x1000);
    return 0;
  };
  a.cuCtxGetDevice = [](int* d) -> Error { return *d = state->current, state->current < 0 ? 201 : 0; };
}

inline void add_modules(CudaApi& a) {
  using namespace cuda;
  a.cuModuleLoadDataEx = [](Handle* m, const void* image, unsigned n, int* options, void** values) -> Error {
    for (unsigned i = 0; i < n; i++)
      if (options[i] == kJitErrorLog) std::strcpy(static_cast<char*>(values[i]), state->jit_log.c_str());
    state->image = static_cast<const char*>(image);
    *m = handle(0x2000);
    return answer("cuModuleLoadDataEx");
  };
  a.cuModuleUnload = [](Handle) { return answer("cuModuleUnload"); };
  a.cuModuleGetFunction = [](Handle* f, Handle, const char*) {
    return *f = handle(0x3000), answer("cuModuleGetFunction");
  };
  a.cuFuncGetAttribute = [](int* v, int attribute, Handle) {
    return *v = state->function_attributes[attribute], answer("cuFuncGetAttribute");
  };
  a.cuFuncSetAttribute = [](Handle, int attribute, int value) -> Error {
    ANSWER("cuFuncSetAttribute");
    if (attribute == kFunctionMaxDynamicShared) state->max_dynamic_shared = value;
    return 0;
  };
  a.cuFuncSetCacheConfig = [](Handle, int) { return answer("cuFuncSetCacheConfig"); };
}

inline void add_launches(CudaApi& a) {
  using namespace cuda;
  a.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* n, Handle, int, size_t) {
    return *n = 2, answer("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  };
  a.cuLaunchKernel = [](Handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, Handle stream, void** params, void**) -> Error {
    ANSWER("cuLaunchKernel");
    Launch launch;
    launch.config = {gx, gy, gz, bx, by, bz, shared, stream, nullptr, 0};
    record(std::move(launch), params);
    return 0;
  };
  a.cuLaunchKernelEx = [](const cuda::LaunchConfig* config, Handle, void** params, void**) -> Error {
    ANSWER("cuLaunchKernelEx");
    Launch launch;
    launch.config = *config;
    launch.extended = true;
    launch.attributes.assign(config->attributes, config->attributes + config->num_attributes);
    record(std::move(launch), params);
    return 0;
  };
  a.cuOccupancyMaxActiveClusters = [](int* n, Handle, const cuda::LaunchConfig*) {
    return *n = 16, answer("cuOccupancyMaxActiveClusters");
  };
}

inline void add_memory(CudaApi& a) {
  using namespace cuda;
  a.cuMemAllocAsync = [](Address* p, size_t bytes, Handle) -> Error {
    ANSWER("cuMemAllocAsync");
    *p = state->next_address;
    state->memory[*p] = std::max(state->current, 0);
    state->next_address += bytes;
    return 0;
  };
  a.cuMemFreeAsync = [](Address, Handle) { return answer("cuMemFreeAsync"); };
  a.cuMemsetD8Async = [](Address, unsigned char, size_t, Handle) { return answer("cuMemsetD8Async"); };
  a.cuMemcpyHtoD_v2 = [](Address to, const void* from, size_t bytes) -> Error {
    ANSWER("cuMemcpyHtoD_v2");
    state->contents[to].assign(static_cast<const char*>(from), bytes);
    return 0;
  };
  a.cuMemcpyDtoH_v2 = [](void* to, Address from, size_t bytes) -> Error {
    ANSWER("cuMemcpyDtoH_v2");
    if (auto it = state->contents.find(from); it != state->contents.end())
      it->second.copy(static_cast<char*>(to), bytes);
    return 0;
  };
  a.cuStreamSynchronize = [](Handle) { return answer("cuStreamSynchronize"); };
  a.cuPointerGetAttributes = [](unsigned n, int* attributes, void** values, Address p) -> Error {
    ANSWER("cuPointerGetAttributes");
    auto it = state->memory.find(p);
    const bool known = state->knows(p);
    const int device = it != state->memory.end() ? it->second : 0;
    for (unsigned i = 0; i < n; i++) {
      if (attributes[i] == kPointerMemoryType)
        *static_cast<uint32_t*>(values[i]) = !known       ? 0u
                                             : device < 0 ? uint32_t{kMemoryHost}
                                                          : uint32_t{kMemoryDevice};
      if (attributes[i] == kPointerDeviceOrdinal) *static_cast<int*>(values[i]) = known ? device : -2;
      if (attributes[i] == kPointerDevicePointer) *static_cast<Address*>(values[i]) = known ? p : 0;
    }
    return 0;
  };
}

inline void add_tensor_maps(CudaApi& a) {
  using namespace cuda;
  a.cuTensorMapEncodeTiled = [](void* map, int type, uint32_t rank, void*, const uint64_t* shape,
                                const uint64_t* strides, const uint32_t* box, const uint32_t*, int,
                                int swizzle, int, int fill) -> Error {
    ANSWER("cuTensorMapEncodeTiled");
    std::memset(map, 0xff, 128);
    state->map.type = type, state->map.rank = static_cast<int>(rank), state->map.swizzle = swizzle,
    state->map.fill = fill;
    std::copy(shape, shape + rank, state->map.shape);
    std::copy(strides, strides + rank - 1, state->map.strides);
    std::copy(box, box + rank, state->map.box);
    return 0;
  };
  a.cuTensorMapEncodeIm2col = [](void* map, int type, uint32_t rank, void*, const uint64_t* shape,
                                 const uint64_t* strides, const int* lower, const int* upper,
                                 uint32_t channels, uint32_t pixels, const uint32_t* steps, int, int swizzle,
                                 int, int fill) -> Error {
    ANSWER("cuTensorMapEncodeIm2col");
    std::memset(map, 0xff, 128);
    state->map.type = type, state->map.rank = static_cast<int>(rank), state->map.swizzle = swizzle,
    state->map.fill = fill, state->map.box[0] = channels, state->map.box[1] = pixels;
    std::copy(shape, shape + rank, state->map.shape);
    std::copy(strides, strides + rank - 1, state->map.strides);
    std::copy(lower, lower + rank - 2, state->map.lower);
    std::copy(upper, upper + rank - 2, state->map.upper);
    std::copy(steps, steps + rank, state->map.steps);
    return 0;
  };
}

inline CudaApi api() {
  CudaApi a;
  add_devices(a);
  add_modules(a);
  add_launches(a);
  add_memory(a);
  add_tensor_maps(a);
  return a;
}
#undef ANSWER

}  // namespace triton_runner::device::fake
