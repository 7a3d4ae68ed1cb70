// fma_oob() gives the function over lanes of fma.oob, which wraps that of a plain fma.
#pragma once
#include <triton_runner/lanes/lanes.h>

namespace triton_runner::lanes {

// d = 0 where an operand is the NaN that tensor copies fill with, else what the handler in imm gives. `halves`:
// of 16 bits in a register.
Handler fma_oob(int halves);

}  // namespace triton_runner::lanes
