// Writes a trace as bytes and reads it back, to replay it in another process of this machine and this
// version.
#pragma once
#include <string>
#include <string_view>

#include <triton_runner/base/result.h>
#include <triton_runner/exec/trace.h>

namespace triton_runner::replay {

std::string bytes_of(const exec::Trace& trace);
// An error where they are cut short.
base::Result<exec::Trace> trace_of(std::string_view bytes);

}  // namespace triton_runner::replay
