"""Compares times side by side in one run: launches, matmul, attention, two kernels, several Triton releases.

- `triton-runner bench launch_latency|matmul|attention|all` measures the ways to run a kernel.
- `triton-runner bench --ab A B` compares two kernels, artifacts or releases.
- `python -m triton_runner.bench.cross_version` compares a kernel in several environments.

It is described in doc/guide/bench.md."""
