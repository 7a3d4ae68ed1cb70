// Declares addresses in the shared memory of a cluster's blocks: the block's rank and an offset, in 32 bits
// or in the low 32 of a generic address (wide).
#pragma once
#include "state/exec.h"

namespace triton_runner::simt {

Handler map_handler(bool wide);   // d: the address a of this block, in the block of rank b
Handler rank_handler(bool wide);  // d: the rank of the block that a lies in

}  // namespace triton_runner::simt
