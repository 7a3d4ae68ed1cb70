// The Kernel of lowered code.
#pragma once
#include <functional>
#include <memory>

#include <triton_runner/exec/register_observer.h>

#include "arguments.h"

namespace triton_runner::simt {

// The code of a launch whose registers somebody observes.
using LowerWithProbes =
    std::function<base::Result<std::unique_ptr<Code>>(std::span<const exec::RegisterProbe>)>;
// shared_bytes: of dynamic shared memory, as LoadOptions has them.
std::unique_ptr<exec::Kernel> make_kernel(Code code, ArgumentPlan plan, int64_t shared_bytes,
                                          LowerWithProbes lower);

}  // namespace triton_runner::simt
