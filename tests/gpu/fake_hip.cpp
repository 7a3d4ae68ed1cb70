// libamdhip64.so for machines without a GPU: the entry points that src/device/hip_driver.cpp and Triton's own HIP
// driver look up, so that Python programs run up to the driver. It executes nothing; at exit it writes what it was
// asked as JSON to $FAKE_HIP_LOG, in the words of fake_cuda.cpp.
//   FAKE_HIP_PARAMS=8,8,4            bytes of each parameter that launches copy
//   FAKE_HIP_FAIL=hipInit=100        a call that fails, and its error
//   FAKE_HIP_ARCH=gfx1201 FAKE_HIP_WARP=32      the devices (gfx942, 64)
//   FAKE_HIP_MEMORY=4096=0           addresses and the devices they lie on, -1 for the host's; others are invalid
//   FAKE_HIP_QUIET=1                 launches are counted and not written down, all memory is device 0's
//   FAKE_HIP_LACKS=hipDrvLaunchKernelEx         an entry point of later releases
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>

#include <triton_runner/device/hip_api.h>

#include "fake_driver.h"

using namespace triton_runner::device::hip;
using namespace fake_driver;

namespace {

struct Launch {
  std::string call;
  unsigned grid[3], block[3], shared;
  uint64_t stream, function;
  std::vector<unsigned> attributes;
  std::vector<std::vector<unsigned char>> params;
};

struct State {
  std::vector<std::string> calls;
  std::map<std::string, Error> errors;
  std::map<uint64_t, int> memory;
  std::vector<size_t> param_bytes;
  std::vector<Launch> launches;
  std::string arch = "gfx942", lacks;
  int warp_size = 64;
  bool is_quiet = false;
  uint64_t launched = 0, next = 0x3000;
  std::mutex mutex;
};
State& state = *new State;  // lives as long as the process

thread_local int device = 0;
constexpr int kDevices = 2;

Error answer(const char* call) {
  if (state.is_quiet && state.errors.empty()) return 0;
  std::lock_guard lock(state.mutex);
  if (!state.is_quiet) state.calls.push_back(call);
  auto found = state.errors.find(call);
  return found == state.errors.end() ? 0 : found->second;
}
#define ANSWER(call) \
  if (Error code_ = answer(call)) return code_

Error record(Launch launch, void** params) {
  ANSWER(launch.call.c_str());
  std::lock_guard lock(state.mutex);
  state.launched++;
  if (state.is_quiet) return 0;
  for (size_t i = 0; i < state.param_bytes.size(); i++) {
    auto* bytes = static_cast<unsigned char*>(params[i]);
    launch.params.emplace_back(bytes, bytes + state.param_bytes[i]);
  }
  state.launches.push_back(std::move(launch));
  return 0;
}

uint64_t number(const void* handle) { return reinterpret_cast<uint64_t>(handle); }

// hipDeviceProp_t of HIP 6, by offset.
void put(DeviceProperties* p, size_t offset, int value) {
  std::memcpy(reinterpret_cast<char*>(p) + offset, &value, sizeof value);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT Error hipInit(unsigned) { return answer("hipInit"); }
EXPORT Error hipDriverGetVersion(int* v) { return *v = 60342134, 0; }
EXPORT Error hipRuntimeGetVersion(int* v) { return *v = 60342134, 0; }
EXPORT Error hipGetDeviceCount(int* n) { return *n = kDevices, answer("hipGetDeviceCount"); }
EXPORT Error hipGetDevice(int* d) { return *d = device, answer("hipGetDevice"); }
EXPORT Error hipSetDevice(int d) {
  ANSWER("hipSetDevice");
  if (d < 0 || d >= kDevices) return 101;
  return device = d, 0;
}
EXPORT Error hipDeviceGetAttribute(int* value, int attribute, int) {
  ANSWER("hipDeviceGetAttribute");
  static const std::map<int, int> known{
      {kMaxThreadsPerBlock, 1024},         {kMaxSharedPerBlock, 65536},    {kCooperativeLaunch, 1},
      {kMultiprocessorCount, 304},         {kMaxRegistersPerBlock, 65536}, {kL2CacheSize, 4194304},
      {kMaxSharedPerMultiprocessor, 65536}};
  auto found = known.find(attribute);
  if (attribute == kWarpSize)
    *value = state.warp_size;
  else if (found == known.end())
    return kInvalidValue;
  else
    *value = found->second;
  return 0;
}
EXPORT Error hipGetDevicePropertiesR0600(DeviceProperties* p, int) {
  ANSWER("hipGetDeviceProperties");
  constexpr size_t kBytes = 1472;  // what Triton's header has
  std::memset(static_cast<void*>(p), 0, kBytes);
  std::strcpy(p->name, "Fake AMD GPU");
  std::strcpy(p->gcn_arch_name, (state.arch + ":sramecc+:xnack-").c_str());
  put(p, 296, 65536);            // sharedMemPerBlock
  put(p, 304, 65536);            // regsPerBlock
  put(p, 308, state.warp_size);  // warpSize
  put(p, 320, 1024);             // maxThreadsPerBlock
  put(p, 348, 2100000);          // clockRate
  put(p, 388, 304);              // multiProcessorCount
  put(p, 608, 1300000);          // memoryClockRate
  put(p, 612, 8192);             // memoryBusWidth
  put(p, 624, 2048);             // maxThreadsPerMultiProcessor
  put(p, 688, 1);                // cooperativeLaunch
  return 0;
}

// By this name to Triton up to 3.4; HIP itself fills an older struct then.
EXPORT Error hipGetDeviceProperties(DeviceProperties* p, int device) {
  return hipGetDevicePropertiesR0600(p, device);
}

EXPORT Error hipModuleLoadDataEx(Handle* module, const void*, unsigned, int*, void**) {
  ANSWER("hipModuleLoadDataEx");
  std::lock_guard lock(state.mutex);
  return *module = reinterpret_cast<Handle>(state.next += 16), 0;
}
EXPORT Error hipModuleLoadData(Handle* module, const void* image) {
  return hipModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
EXPORT Error hipModuleUnload(Handle) { return answer("hipModuleUnload"); }
EXPORT Error hipModuleGetFunction(Handle* function, Handle module, const char*) {
  ANSWER("hipModuleGetFunction");
  return *function = static_cast<char*>(module) + 1, 0;
}
EXPORT Error hipFuncGetAttribute(int* value, int attribute, Handle) {
  ANSWER("hipFuncGetAttribute");
  return *value = attribute == kFunctionMaxThreads ? 1024 : attribute == kFunctionRegisters ? 40 : 0, 0;
}
EXPORT Error hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* n, Handle, int, size_t) {
  return *n = 2, 0;
}

EXPORT Error hipModuleLaunchKernel(Handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, Handle stream, void** params, void**) {
  return record(
      {"hipModuleLaunchKernel", {gx, gy, gz}, {bx, by, bz}, shared, number(stream), number(f), {}, {}},
      params);
}
EXPORT Error hipModuleLaunchCooperativeKernel(Handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                              unsigned by, unsigned bz, unsigned shared, Handle stream,
                                              void** params) {
  return record({"hipModuleLaunchCooperativeKernel",
                 {gx, gy, gz},
                 {bx, by, bz},
                 shared,
                 number(stream),
                 number(f),
                 {},
                 {}},
                params);
}
EXPORT Error hipDrvLaunchKernelEx(const LaunchConfig* c, Handle f, void** params, void**) {
  Launch launch{"hipDrvLaunchKernelEx",
                {c->grid[0], c->grid[1], c->grid[2]},
                {c->block[0], c->block[1], c->block[2]},
                c->shared_bytes,
                number(c->stream),
                number(f),
                {},
                {}};
  for (unsigned i = 0; i < c->num_attributes; i++) {
    launch.attributes.push_back(c->attributes[i].id);
    const unsigned words = c->attributes[i].id == kLaunchCluster ? 3 : 1;
    for (unsigned k = 0; k < words; k++)
      launch.attributes.push_back(static_cast<unsigned>(c->attributes[i].value[k]));
  }
  return record(std::move(launch), params);
}

EXPORT Error hipMallocAsync(void** address, size_t bytes, Handle) {
  static uint64_t next = 0x7f0000000000;
  *address = reinterpret_cast<void*>(next);
  next += bytes;
  return answer("hipMallocAsync");
}
EXPORT Error hipFreeAsync(void*, Handle) { return answer("hipFreeAsync"); }
EXPORT Error hipMemsetAsync(void*, int, size_t, Handle) { return answer("hipMemsetAsync"); }
EXPORT Error hipMemcpyHtoD(void*, void*, size_t) { return answer("hipMemcpyHtoD"); }
EXPORT Error hipMemcpyDtoH(void*, void*, size_t) { return answer("hipMemcpyDtoH"); }
EXPORT Error hipStreamSynchronize(Handle) { return answer("hipStreamSynchronize"); }

EXPORT Error hipPointerGetAttributes(PointerAttributes* out, const void* p) {
  ANSWER("hipPointerGetAttributes");
  auto found = state.memory.find(number(p));
  if (found == state.memory.end() && !state.is_quiet) return kInvalidValue;
  const int place = found == state.memory.end() ? 0 : found->second;
  *out = {
      place < 0 ? kMemoryHost : kMemoryDevice, place < 0 ? 0 : place, const_cast<void*>(p), nullptr, 0, 0};
  return 0;
}
// Triton's launchers ask for the address on the device.
EXPORT Error hipPointerGetAttribute(void* value, int, void* p) {
  ANSWER("hipPointerGetAttribute");
  if (!state.memory.contains(number(p)) && !state.is_quiet) return kInvalidValue;
  return *static_cast<void**>(value) = p, 0;
}

EXPORT Error hipGetLastError() { return 0; }
EXPORT const char* hipGetErrorName(Error) { return "hipErrorFake"; }
EXPORT const char* hipGetErrorString(Error) { return "a made-up failure"; }

EXPORT Error hipGetProcAddress(const char* name, void** function, int, uint64_t, int*) {
  Dl_info own{};
  dladdr(reinterpret_cast<void*>(&hipInit), &own);
  const std::string full =
      std::strcmp(name, "hipGetDeviceProperties") == 0 ? "hipGetDevicePropertiesR0600" : name;
  *function =
      full == state.lacks ? nullptr : dlsym(dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD), full.c_str());
  return *function ? 0 : 500;
}

namespace {

void write_log() {
  const std::string path = setting("FAKE_HIP_LOG");
  FILE* out = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
  if (!out) return;
  std::fprintf(out, "{\"launched\": %llu, ", static_cast<unsigned long long>(state.launched));
  write_list(out, "launches", state.launches, [out](const Launch& l) {
    std::fprintf(out,
                 "{\"call\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %u, "
                 "\"stream\": %llu, \"function\": %llu, ",
                 l.call.c_str(), l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2],
                 l.shared, static_cast<unsigned long long>(l.stream),
                 static_cast<unsigned long long>(l.function));
    write_params(out, l.params);
    std::fputs(", ", out);
    write_list(out, "attributes", l.attributes, [out](unsigned a) { std::fprintf(out, "%u", a); });
    std::fputs("}", out);
  });
  std::fputs(", ", out);
  write_calls(out, state.calls);
  std::fputs("}\n", out);
  std::fclose(out);
}

bool start() {
  each(setting("FAKE_HIP_PARAMS"),
       [](const std::string& bytes, const std::string&) { state.param_bytes.push_back(std::stoul(bytes)); });
  each(setting("FAKE_HIP_FAIL"),
       [](const std::string& call, const std::string& error) { state.errors[call] = std::stoi(error); });
  each(setting("FAKE_HIP_MEMORY"), [](const std::string& address, const std::string& place) {
    state.memory[std::stoull(address)] = std::stoi(place);
  });
  if (auto arch = setting("FAKE_HIP_ARCH"); !arch.empty()) state.arch = arch;
  if (auto warp = setting("FAKE_HIP_WARP"); !warp.empty()) state.warp_size = std::stoi(warp);
  state.lacks = setting("FAKE_HIP_LACKS");
  state.is_quiet = setting("FAKE_HIP_QUIET") == "1";
  return std::atexit(write_log) == 0;
}
[[maybe_unused]] const bool started = start();  // behind `state`, which it fills

}  // namespace
