"""Reports what kernels need of the GPU."""
