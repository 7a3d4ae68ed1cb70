// Opens driver libraries, finds their functions, and words the errors of their calls: shared by
// cuda_driver.cpp and hip_driver.cpp.
#pragma once
#include <cstdint>
#include <string>

#include <triton_runner/base/result.h>

namespace triton_runner::device {

inline void* handle_of(uint64_t value) { return reinterpret_cast<void*>(value); }
inline uint64_t value_of(void* handle) { return reinterpret_cast<uint64_t>(handle); }

// Opens a library and returns a handle for dlsym. It is never closed, because drivers do not support that. The error
// says what this machine lacks.
base::Result<void*> open_library(const std::string& library, const char* what);
// Returns null if the library lacks the symbol.
void* find_symbol(void* handle, const char* name);

// The diagnostic of a failed call: "cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected".
base::Diagnostic call_failed(const char* call, const char* name, const char* text, int code);

// Adds the driver's compiler log as notes. If it names "line N" of the text, that becomes the location.
void add_compiler_log(base::Diagnostic& diagnostic, std::string_view image, const char* log);

// The image in the form that the library takes: a binary unchanged, a text copied into `text` with a final NUL.
const void* loadable(std::string_view image, std::string& text);

}  // namespace triton_runner::device
