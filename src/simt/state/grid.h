// Says where in the grid a block of a cluster is.
#pragma once
#include "state/exec.h"

namespace triton_runner::simt {

// %ctaid of block `rank` of a cluster of the grid.
std::array<uint32_t, 3> block_of(const Launch& launch, int64_t cluster, uint32_t rank);

}  // namespace triton_runner::simt
