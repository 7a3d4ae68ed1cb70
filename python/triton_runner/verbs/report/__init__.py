"""A page that shows kernels at all levels."""
