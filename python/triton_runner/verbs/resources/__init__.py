"""What kernels need of the GPU."""
