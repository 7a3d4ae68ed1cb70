// Launches of kernels that nobody wrote: every argument within bounds, limits of steps, memory and time; what comes of it
// is a result or an error with its place.
#pragma once
#include <triton_runner/exec/kernel.h>

#include "arrays.h"

namespace triton_runner::fuzz {

// `choice`: bits that pick integers.
inline exec::LaunchResult launch(exec::Kernel& kernel, Arrays& arrays, uint64_t choice,
                                 exec::LaunchOptions options) {
  static const int64_t kIntegers[] = {16, 1, 0, 64, -1, 7, 1024, 3};
  const std::vector<exec::Param>& params = kernel.params();
  std::vector<exec::Argument> arguments;
  std::vector<exec::Allocation> memory;
  for (size_t i = 0; i < params.size(); ++i) {
    exec::Argument argument{params[i].kind, 0, {}};
    if (params[i].kind == exec::ParamKind::kInteger) {
      argument.bits = static_cast<uint64_t>(kIntegers[(choice >> (3 * (i % 16))) % 8]);
      if (params[i].bits == 64 && params[i].type == ".u64") argument.bits = arrays.address(i);
    }
    if (params[i].kind == exec::ParamKind::kPointer) argument.bits = arrays.address(i);
    if (params[i].kind == exec::ParamKind::kTensorDesc)
      argument.descriptor = exec::TensorDesc{arrays.address(i), {32, 32}, {32, 1}, false};
    arguments.push_back(argument);
    memory.push_back({arrays.address(i), Arrays::kWords * 8, "array " + std::to_string(i), true});
  }
  options.grid = {2, 1, 1};
  options.threads = 1;
  options.max_steps = 20000;
  options.timeout_seconds = 10;
  exec::LaunchResult result = kernel.launch(options, arguments, memory);
  require(arrays.intact(), "the kernel wrote outside its arrays");
  if (!result) return result;
  require(!result->str().empty(), "an error without text");
  if (result->trap) require_place(*result->trap);
  return result;
}

// On the SIMT engine, whose steps are short; `choice` picks checks, too.
inline exec::LaunchResult run(exec::Kernel& kernel, Arrays& arrays, uint64_t choice) {
  exec::LaunchOptions options;
  options.max_tile_bytes = 64 << 20;
  if (choice >> 59 & 1)
    options.checks = exec::kCheckOutOfBounds | exec::kCheckRace | exec::kCheckUninitialized;
  exec::LaunchResult result = launch(kernel, arrays, choice, options);
  if (result && result->trap && result->trap->kind == exec::TrapKind::kTimeout)
    require(result->trap->message.find("its limit of") != std::string::npos,
            "20000 steps took longer than 10 seconds: " + result->trap->str());
  return result;
}

// Whether the launch ended at a limit, and may have gone further another time.
inline bool limited(const exec::LaunchResult& result) {
  if (!result || !result->trap) return false;
  exec::TrapKind kind = result->trap->kind;
  return kind == exec::TrapKind::kTimeout || kind == exec::TrapKind::kOutOfMemory;
}

}  // namespace triton_runner::fuzz
