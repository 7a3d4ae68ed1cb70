"""Records any value of a running kernel, at any level, as arrays."""
