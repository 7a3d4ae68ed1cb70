// run_grid() runs one launch on the worker threads: it decides which program runs when, and who waits for
// whom.
#pragma once
#include "task.h"

namespace triton_runner::tile {

// Runs all programs of the launch on `workers` threads; the launch's trap says if one failed.
void run_grid(Launch& launch, int workers);

}  // namespace triton_runner::tile
