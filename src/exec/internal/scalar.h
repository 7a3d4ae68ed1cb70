// Converts the numbers of a launch to the types of a kernel's parameters. This is the one conversion of both
// engines and of GPUs: that of Triton's launchers (extractFP16, extractBF16, ... of its driver.c, the same in
// each release that has such parameters).
#pragma once
#include <cstdint>

#include <triton_runner/exec/kernel.h>
#include <triton_runner/num/types.h>

namespace triton_runner::exec {

// The type of a parameter of kind kFloat, as Triton, MLIR, LLVM or PTX spells it.
num::Type float_type(const Param& param);

// Returns whether a parameter takes that number (Argument::bits): an integer within the signed or the
// unsigned range, a float that is not too large for f16.
bool takes(const Param& param, uint64_t bits);
bool fits_half(uint64_t value);  // the bits of a double
// Says what is wrong with one that it does not take.
std::string misfit(const Param& param, uint64_t bits);

// The bits that a parameter of that type holds. value: those of a double.
uint64_t float_bits(num::Type type, uint64_t value);

}  // namespace triton_runner::exec
