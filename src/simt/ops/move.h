// Declares copies of registers, and conversions of addresses from one state space to another.
#pragma once
#include "state/exec.h"

namespace triton_runner::simt {

// d = a, of registers of so many bytes.
Handler copy_register(uint32_t bytes);
// d = a with the window `imm`, or without it.
void add_window(Lanes& l, const Operands& in);
void drop_window(Lanes& l, const Operands& in);
// d, a predicate: a lies in the window `imm`; small: 1 for "any host address", 2 for the parameters; e: and is this block's.
void is_space(Lanes& l, const Operands& in);
// Converts an address of .param to a generic one, and back.
void param_to_generic(Lanes& l, const Operands& in);
void generic_to_param(Lanes& l, const Operands& in);

}  // namespace triton_runner::simt
