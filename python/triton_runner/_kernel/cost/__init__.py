"""Counts what a launch executes in its machine code, and bounds the least time that it can take."""
