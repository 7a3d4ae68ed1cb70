"""Runs any program of the CUDA driver API on the CPU."""
