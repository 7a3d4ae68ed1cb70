// Names the instruction sets that this machine has, and those for which this build has copies of the loops
// (TRITON_RUNNER_ISAS of CMake).
#pragma once
#include <string>

#include <triton_runner/num/types.h>

namespace triton_runner::num {

bool machine_has_isa(Isa isa);
bool isa_is_built(Isa isa);
std::string built_isas();  // "portable, avx2, avx512"
// Returns why limit_isa() refuses a name: it is none, or this machine or this build lacks it, and what to do then; "" if it
// does not refuse it.
std::string why_no_isa(std::string_view name);

}  // namespace triton_runner::num
