"""Offers dump statements inside a kernel: `import triton_runner.language as dl`, then dl.dump(value),
dl.dump_boundary(value) or dl.dump_grids(value). Each leaves a marker in Triton's IR; the engines and
launches on a GPU record the value there. dl.breakpoint(condition) stops a launch under `triton-runner
debug`."""

from triton_runner._kernel.dumps import plain
from triton_runner._kernel.dumps.statements import breakpoint, dump, dump_boundary, dump_grids

plain.install()

__all__ = ["breakpoint", "dump", "dump_boundary", "dump_grids"]
