"""Compiles kernels with every release of Triton, and looks into their compilations."""
