"""Reports what kernels need of the GPU; _kernel.compiling.resources reads it from the binary."""
