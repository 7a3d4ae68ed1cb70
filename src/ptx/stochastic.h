// cvt.rs: how it is found.
#pragma once
#include <triton_runner/ptx/lanes.h>
#include <triton_runner/ptx/opcode.h>

namespace triton_runner::ptx {

// In Operands::small.
inline constexpr uint32_t kStochasticSatfinite = 1, kStochasticRelu = 2;

// f32 to packed values of type `to`: d, a, b, c = rbits, or with four sources d, a, b, c, e and the register of
// rbits in imm. Null if there is none of that type.
Handler stochastic_conversion(Mod to, bool* four);

}  // namespace triton_runner::ptx
