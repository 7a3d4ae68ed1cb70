// Runs a launch's grid.
#pragma once
#include "exec.h"

namespace triton_runner::simt {

// All clusters of the launch, on `workers` threads; what goes wrong is in launch.trap.
void run_grid(Launch& launch, int workers);

// %ctaid of block `rank` of a cluster of the grid.
std::array<uint32_t, 3> block_of(const Launch& launch, int64_t cluster, uint32_t rank);

}  // namespace triton_runner::simt
