// run_workers() runs a launch on pinned threads. They are made when first needed, and made anew in a forked
// child.
#pragma once
#include <functional>

namespace triton_runner::exec {

// Cores that this process may run on.
int available_cores();

// Runs work(0) on the calling thread and work(1 .. workers - 1) on pool threads, and returns when all have
// returned. Launches from several threads at once take turns for the pool threads. `work` does not throw.
void run_workers(int workers, const std::function<void(int)>& work);

}  // namespace triton_runner::exec
