"""Runs kernels at every level, and faults, on a machine without a GPU and without a clone."""
