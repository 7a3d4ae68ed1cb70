// libcuda.so.1 for machines without a GPU: exports the entry points of src/device/fake_cuda.h, so that Python
// programs run up to the driver. It executes nothing; at exit it writes what it was asked as JSON to
// $FAKE_CUDA_LOG.
//   FAKE_CUDA_PARAMS=8,8,4      bytes of each parameter that launches copy
//   FAKE_CUDA_FAIL=cuInit=100   a call that fails, and its error
//   FAKE_CUDA_SM=80             compute capability (90)
//   FAKE_CUDA_MEMORY=4096=0     addresses and the devices they lie on; *: any other lies on device 0
//   FAKE_CUDA_QUIET=1           launches are counted and not written down
//   FAKE_CUDA_BUSY=3000         nanoseconds that a launch takes, one after the other
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "../../src/device/fake_cuda.h"

using namespace triton_runner::device;

// The library's symbols are the table's functions: each resolved when it is loaded.
#define X(name, params, needed)                                                    \
  extern "C" decltype(CudaApi::name) resolve_##name() { return fake::api().name; } \
  extern "C" __attribute__((visibility("default"), ifunc("resolve_" #name))) cuda::Error name params;
TRITON_RUNNER_CUDA_API(X)
#undef X

// What Triton's own launchers ask of the library besides.
#define EXPORT extern "C" __attribute__((visibility("default"))) cuda::Error
EXPORT cuCtxGetLimit(size_t* value, int) { return *value = 0, 0; }
EXPORT cuCtxSetLimit(int, size_t) { return 0; }
EXPORT cuStreamIsCapturing(cuda::Handle, int* status) { return *status = 0, 0; }
EXPORT cuModuleLoadData(cuda::Handle* module, const void* image) {
  return fake::api().cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
EXPORT cuPointerGetAttribute(void* value, int attribute, cuda::Address pointer) {
  const cuda::Error error = fake::api().cuPointerGetAttributes(1, &attribute, &value, pointer);
  return error ? error : fake::state->knows(pointer) ? 0 : cuda::kInvalidValue;
}
#undef EXPORT

namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// "a=1,b=2" or "1,2"
template <class Take>
void each(const std::string& list, Take take) {
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) {
    size_t equals = item.find('=');
    take(item.substr(0, equals), equals == std::string::npos ? "" : item.substr(equals + 1));
  }
}

void write_log() {
  std::string path = setting("FAKE_CUDA_LOG");
  FILE* out = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
  if (!out) return;
  const fake::State& s = *fake::state;
  std::fprintf(out, "{\"launched\": %llu, ", static_cast<unsigned long long>(s.launched));
  std::fprintf(out, "\"binary\": %s, \"image_bytes\": %zu, \"launches\": [",
               s.image.starts_with("\x7f"
                                   "ELF")
                   ? "true"
                   : "false",
               s.image.size());
  for (size_t i = 0; i < s.launches.size(); i++) {
    const fake::Launch& l = s.launches[i];
    std::fprintf(
        out, "%s{\"grid\": [%u, %u, %u], \"threads\": %u, \"shared\": %u, \"stream\": %llu, \"params\": [",
        i ? ", " : "", l.config.grid_x, l.config.grid_y, l.config.grid_z, l.config.block_x,
        l.config.shared_bytes, reinterpret_cast<unsigned long long>(l.config.stream));
    for (size_t p = 0; p < l.params.size(); p++) {
      std::fprintf(out, "%s\"", p ? ", " : "");
      for (unsigned char byte : l.params[p]) std::fprintf(out, "%02x", byte);
      std::fprintf(out, "\"");
    }
    std::fprintf(out, "], \"attributes\": [");
    for (size_t a = 0; a < l.attributes.size(); a++)
      std::fprintf(out, "%s%u", a ? ", " : "", l.attributes[a].id);
    std::fprintf(out, "]}");
  }
  std::fprintf(out, "], \"calls\": [");
  for (size_t i = 0; i < s.calls.size(); i++)
    std::fprintf(out, "%s\"%s\"", i ? ", " : "", s.calls[i].c_str());
  std::fprintf(out, "]}\n");
  std::fclose(out);
}

__attribute__((constructor)) void start() {
  fake::state = new fake::State;  // lives as long as the process
  each(setting("FAKE_CUDA_PARAMS"), [](const std::string& bytes, const std::string&) {
    fake::state->param_bytes.push_back(std::stoul(bytes));
  });
  each(setting("FAKE_CUDA_FAIL"), [](const std::string& call, const std::string& error) {
    fake::state->errors[call] = std::stoi(error);
  });
  each(setting("FAKE_CUDA_MEMORY"), [](const std::string& address, const std::string& device) {
    if (address == "*")
      fake::state->is_everywhere = true;
    else
      fake::state->memory[std::stoull(address)] = std::stoi(device);
  });
  fake::state->is_quiet = setting("FAKE_CUDA_QUIET") == "1";
  fake::state->busy_ns = std::atoi(setting("FAKE_CUDA_BUSY").c_str());
  if (int sm = std::atoi(setting("FAKE_CUDA_SM").c_str())) {
    fake::state->attributes[75] = sm / 10;
    fake::state->attributes[76] = sm % 10;
  }
  std::atexit(write_log);
}

}  // namespace
