"""Kernels from files and texts, compiled kernels of either origin, and one launch that can be run again."""
