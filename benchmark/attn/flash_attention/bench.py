"""Flash attention at every level: triton-runner bench attention, with its options."""

import sys

from triton_runner.verbs.bench.command import bench_command

if __name__ == "__main__":
    bench_command(["attention", *sys.argv[1:]])
