// Opens a driver library with dlopen, finds its functions, and words the errors that its calls return.
#include "library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

#include <triton_runner/base/try.h>
#include <triton_runner/device/cuda_api.h>
#include <triton_runner/device/driver.h>
#include <triton_runner/device/hip_api.h>

namespace triton_runner::device {

base::Result<void*> open_library(const std::string& library, const char* what) {
  if (void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* reason = dlerror();
  return base::failure("cannot open " + library + ": " + (reason ? reason : "unknown reason"),
                       {std::string("this machine has no ") + what + " driver in the loader's path; " +
                        base::option("device", "cpu") + " needs none"});
}

void* find_symbol(void* handle, const char* name) { return dlsym(handle, name); }

base::Diagnostic call_failed(const char* call, const char* name, const char* text, int code) {
  std::string message = std::string(call) + ": ";
  message += name ? name : "error " + std::to_string(code);
  if (text) message += std::string(": ") + text;
  return base::failure(std::move(message));
}

void add_compiler_log(base::Diagnostic& diagnostic, std::string_view image, const char* log) {
  std::string_view rest(log);
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    diagnostic.notes.emplace_back(line);
    size_t at = line.find("line ");
    if (at == std::string_view::npos || diagnostic.location.line > 0) continue;
    int number = std::atoi(std::string(line.substr(at + 5, 9)).c_str());
    if (number <= 0) continue;
    diagnostic.location.line = number;
    size_t start = 0;
    for (int i = 1; i < number && start != std::string_view::npos; i++) {
      start = image.find('\n', start);
      if (start != std::string_view::npos) start++;
    }
    if (start != std::string_view::npos)
      diagnostic.source_line = image.substr(start, image.find('\n', start) - start);
  }
}

const void* loadable(std::string_view image, std::string& text) {
  // ELF (cubin, code object) and fat binaries say their own size; anything else is text.
  bool binary = image.starts_with(
                    "\x7f"
                    "ELF") ||
                image.starts_with(std::string_view("\x50\xed\x55\xba", 4)) ||
                image.starts_with("__CLANG_OFFLOAD_BUNDLE__");
  if (binary) return image.data();
  text.assign(image);
  return text.c_str();
}

base::Result<Driver*> open_driver(std::string_view backend, const std::string& library) {
  static std::mutex mutex;
  static std::unique_ptr<Driver> cuda, hip;
  std::lock_guard lock(mutex);
  if (backend == "cuda") {
    if (!cuda) {
      auto api = TRY(load_cuda_api(library.empty() ? "libcuda.so.1" : library));
      cuda = make_cuda_driver(api);
    }
    return cuda.get();
  }
  if (backend == "hip") {
    if (!hip) {
      auto api = TRY(load_hip_api(library.empty() ? "libamdhip64.so" : library));
      hip = make_hip_driver(api);
    }
    return hip.get();
  }
  return base::failure("no GPU driver is called '" + std::string(backend) + "'",
                       {"the drivers are 'cuda' and 'hip'"});
}

}  // namespace triton_runner::device
