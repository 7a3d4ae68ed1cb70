"""Dump statements inside a kernel: `import triton_runner.language as dl`, then dl.dump(value),
dl.dump_boundary(value) or dl.dump_grids(value). Each leaves a marker in Triton's IR; the engines and launches
on a GPU record the value there."""

from triton_runner._dump.statements import dump, dump_boundary, dump_grids

__all__ = ["dump", "dump_boundary", "dump_grids"]
