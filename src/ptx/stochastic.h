// cvt.rs: how it is found.
#pragma once
#include <triton_runner/num/stochastic.h>
#include <triton_runner/ptx/lanes.h>
#include <triton_runner/ptx/opcode.h>

namespace triton_runner::ptx {

// Operands::small says how.
using num::stochastic::kStochasticRelu;
using num::stochastic::kStochasticSatfinite;

// f32 to packed values of type `to`: d, a, b, c = rbits, or with four sources d, a, b, c, e and the register of
// rbits in imm. Null if there is none of that type.
Handler stochastic_conversion(Mod to, bool* four);

}  // namespace triton_runner::ptx
