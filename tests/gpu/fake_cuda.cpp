// libcuda.so.1 for machines without a GPU: exports the entry points of src/device/fake_cuda.h, so that Python
// programs run up to the driver. It executes nothing; at exit it writes what it was asked as JSON to
// $FAKE_CUDA_LOG.
//   FAKE_CUDA_PARAMS=8,8,4      bytes of each parameter that launches copy
//   FAKE_CUDA_FAIL=cuInit=100   a call that fails, and its error
//   FAKE_CUDA_SM=80             compute capability (90)
//   FAKE_CUDA_MEMORY=4096=0     addresses and the devices they lie on; *: any other lies on device 0
//   FAKE_CUDA_QUIET=1           launches are counted and not written down
//   FAKE_CUDA_BUSY=3000         nanoseconds that a launch takes, one after the other
#include "../../src/device/fake_cuda.h"
#include "fake_driver.h"

using namespace triton_runner::device;
using namespace fake_driver;

// The library's symbols are the table's functions: each resolved when it is loaded.
#define X(name, params, needed)                                                    \
  extern "C" decltype(CudaApi::name) resolve_##name() { return fake::api().name; } \
  extern "C" __attribute__((visibility("default"), ifunc("resolve_" #name))) cuda::Error name params;
TRITON_RUNNER_CUDA_API(X)
#undef X

// Triton's own launchers ask these of the library besides.
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

void write_log() {
  std::string path = setting("FAKE_CUDA_LOG");
  FILE* out = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
  if (!out) return;
  const fake::State& s = *fake::state;
  std::fprintf(out, "{\"launched\": %llu, ", static_cast<unsigned long long>(s.launched));
  const bool is_binary = s.image.starts_with(
      "\x7f"
      "ELF");
  std::fprintf(out, "\"binary\": %s, \"image_bytes\": %zu, ", is_binary ? "true" : "false", s.image.size());
  write_list(out, "launches", s.launches, [out](const fake::Launch& l) {
    std::fprintf(out, "{\"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %u, \"stream\": %llu, ",
                 l.config.grid_x, l.config.grid_y, l.config.grid_z, l.config.block_x, l.config.block_y,
                 l.config.block_z, l.config.shared_bytes,
                 reinterpret_cast<unsigned long long>(l.config.stream));
    write_params(out, l.params);
    std::fputs(", ", out);
    write_list(out, "attributes", l.attributes, [out](const auto& a) { std::fprintf(out, "%u", a.id); });
    std::fputs("}", out);
  });
  std::fputs(", ", out);
  write_calls(out, s.calls);
  std::fputs("}\n", out);
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
