// Declares special registers, and addresses that only a launch or a block knows, as places in the register
// file.
#pragma once
#include "front/ptx/lower.h"

namespace triton_runner::simt {

// A place that holds the special register when the instruction being lowered runs. `bytes`: 1 (a predicate),
// 4 or 8. PTX ISA chapter 10.
uint32_t place_special(Lowering& l, ptx::Special special, uint32_t bytes);
// Reads it into a register of so many bytes; false (and nothing) where a place has it (filled_special).
bool read_special(Lowering& l, ptx::Special special, uint32_t bytes, uint32_t place);
// The place that has it before a block begins: the number of a thread or of the block. kNoRegister: it is to be read.
uint32_t filled_special(Emitter& to, ptx::Special special, uint32_t bytes);
// Reads it: small is the ptx::Special, d the place, imm its bytes.
void read_block_special(Lanes& l, const Operands& in);

}  // namespace triton_runner::simt
