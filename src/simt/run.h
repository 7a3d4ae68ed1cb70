// Runs a launch's grid.
#pragma once
#include "exec.h"

namespace triton_runner::simt {

// All clusters of the launch, on `workers` threads; what goes wrong is in launch.trap.
void run_grid(Launch& launch, int workers);

// %ctaid of the first block of cluster `linear` of the grid.
std::array<uint32_t, 3> first_block(const Launch& launch, uint64_t linear);

// The clock of Launch::deadline.
double steady_seconds();

}  // namespace triton_runner::simt
