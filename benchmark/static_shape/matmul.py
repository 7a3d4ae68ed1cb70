"""A matrix product of a fixed shape at every level: triton-runner bench matmul, with its options."""

import sys

from triton_runner.verbs.bench.command import bench_command

if __name__ == "__main__":
    bench_command(["matmul", *sys.argv[1:]])
