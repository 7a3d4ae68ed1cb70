// run_grid() runs a launch's grid on the workers.
#pragma once
#include "state/exec.h"

namespace triton_runner::simt {

// All clusters of the launch, on `workers` threads; what goes wrong is in launch.trap.
void run_grid(Launch& launch, int workers);

}  // namespace triton_runner::simt
