// make_kernel() makes a Kernel of Code, whichever front end lowered it.
#pragma once
#include <functional>
#include <memory>

#include <triton_runner/exec/register_observer.h>
#include <triton_runner/exec/stopper.h>

#include "code/arguments.h"

namespace triton_runner::simt {

// The code of a launch that somebody looks at: whose registers are read, that counts, or that stops for a debugger.
using LowerWithProbes = std::function<base::Result<std::unique_ptr<Code>>(const exec::LaunchOptions&)>;
inline std::span<const exec::RegisterProbe> probes_of(const exec::LaunchOptions& options) {
  return options.registers ? options.registers->register_probes() : std::span<const exec::RegisterProbe>();
}
// shared_bytes: of dynamic shared memory, as LoadOptions has them.
std::unique_ptr<exec::Kernel> make_kernel(Code code, ArgumentPlan plan, int64_t shared_bytes,
                                          LowerWithProbes lower);

// Sets block, cluster and threads of a target, from what the code demands (or zeros) and what the options give; says what
// no launch may have.
std::string set_shape(Target& target, std::array<uint32_t, 3> block, std::array<uint32_t, 3> cluster);
inline bool is_given(const std::array<uint32_t, 3>& axes) { return axes[0] || axes[1] || axes[2]; }

}  // namespace triton_runner::simt
