// Finds, for check="zerodiv", integer divisions that have no quotient: by 0, and of the lowest integer by -1.
// GPUs do not trap there, and neither do the engines: the result is a number that hardly any program wants,
// and LLVM leaves it undefined.
#pragma once
#include "check/check.h"

namespace triton_runner::tile {

class UninitCheck;

// After an instruction ran. False, and a trap: a quotient is not defined, and its operands are not among `undefined`.
bool quotients_are_defined(Task& t, const Instr& in, const UninitCheck& undefined);

}  // namespace triton_runner::tile
