// Sorting networks as single instructions: a pass before the lowering.
#pragma once
#include "lowering.h"

namespace triton_runner::tile {

// Replaces the networks of a function's body, and leaves out what only they used.
void find_sorts(Lowering& lowering, const ir::Region& region);

}  // namespace triton_runner::tile
