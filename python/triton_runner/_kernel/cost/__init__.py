"""Counts what a launch executes in its machine code, by line and instruction; bounds the least time that it
can take on a chip, names what surely costs time, and estimates the time by the replay of one SM.

It is described in doc/reference/profile.md."""
