"""Runs benchmarks as a verb; it measures with triton_runner.bench."""
