// Opening a driver library and filling a table of its entry points.
#pragma once
#include <string>

#include <triton_runner/base/result.h>

namespace triton_runner::device {

// A handle for dlsym; never closed, as drivers do not survive it. The error says what is missing on this
// machine.
base::Result<void*> open_library(const std::string& library, const char* what);
// Null where the library lacks the symbol.
void* find_symbol(void* handle, const char* name);

// The diagnostic of a failed call: "cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected".
base::Diagnostic call_failed(const char* call, const char* name, const char* text, int code);

// The driver's compiler log as notes; where it says "line N" of the text, that place becomes the location.
void add_compiler_log(base::Diagnostic& diagnostic, std::string_view image, const char* log);

// The image as the library takes it: binaries as they are, text copied into `text` so that a NUL ends it.
const void* loadable(std::string_view image, std::string& text);

}  // namespace triton_runner::device
