"""Measures a launch, by every way to launch: triton-runner bench launch_latency, with its options."""

import sys

from triton_runner.verbs.bench.command import bench_command

if __name__ == "__main__":
    bench_command(["launch_latency", *sys.argv[1:]])
