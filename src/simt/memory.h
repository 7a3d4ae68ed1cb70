// Loads and stores of one or several registers.
#pragma once
#include "operand_data.h"

namespace triton_runner::simt {

// The handler of a load or store. Operands::a is the address, data the Access.
Handler access_handler(const Access& access, bool write);
// A load at `offset` of the kernel's parameters, the same for every thread.
void load_param(Exec& x, const Operands& in, const Access& a);

}  // namespace triton_runner::simt
