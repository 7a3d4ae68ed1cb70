// stochastic_conversion() gives the function over lanes of cvt.rs, which rounds up or down by random bits.
// Its formula is in num/stochastic.h.
#pragma once
#include <triton_runner/lanes/functions.h>
#include <triton_runner/lanes/lanes.h>
#include <triton_runner/num/stochastic.h>

namespace triton_runner::lanes {

// Operands::small says how.
using num::stochastic::kStochasticRelu;
using num::stochastic::kStochasticSatfinite;

// f32 to packed values of type `to`: d, a, b, c = rbits, or with four sources d, a, b, c, e and the register of
// rbits in imm. Null if there is none of that type.
Handler stochastic_conversion(Type to, bool* four);

}  // namespace triton_runner::lanes
