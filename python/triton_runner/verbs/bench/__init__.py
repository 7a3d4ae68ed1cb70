"""Benchmarks as a verb; what it measures with is triton_runner.bench."""
