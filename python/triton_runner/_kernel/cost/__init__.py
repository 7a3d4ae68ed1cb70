"""Counts what a launch executes in its machine code (counting, counters, profiling, results), by line and
instruction (lines); bounds the least time that it can take on a chip (bounds, chips), names what surely costs
time (costs), and estimates the time by the replay of one SM (replay, timing, estimate_job).

It is described in doc/reference/profile.md."""
