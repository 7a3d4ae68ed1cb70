"""Makes kernels from files and texts, and asks compiled kernels of either origin the same questions.

It is described in doc/internals/devices.md."""
