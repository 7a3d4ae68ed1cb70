"""Dump statements inside a kernel: `import triton_runner.language as dl`, then dl.dump(value) and its two
relatives. Each leaves a marker in Triton's IR, by which the engines and a launch on a GPU record the
value."""

from triton_runner._dump.statements import dump, dump_boundary, dump_grids

__all__ = ["dump", "dump_boundary", "dump_grids"]
