"""Compiles a kernel from any level to any other; _kernel.compiling.compile does the work."""
