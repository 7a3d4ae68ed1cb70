// check="zerodiv": integers that are divided by 0. GPUs do not trap there, and neither do we: what comes out
// is a number that hardly anybody wants.
#pragma once
#include "check/check.h"

namespace triton_runner::tile {

class UninitCheck;

// After an instruction ran; false: a divisor is 0 that is not one of `undefined`, and that is a trap now.
bool divisors_are_not_zero(Task& t, const Instr& in, const UninitCheck& undefined);

}  // namespace triton_runner::tile
