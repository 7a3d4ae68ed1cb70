"""The sums of every program of a vector addition."""

import sys
from pathlib import Path

import triton.language as tl
import triton_runner
import triton_runner.language as dl

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness


@triton_runner.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    output = x + y
    dl.dump_grids(output)
    tl.store(out_ptr + offsets, output, mask=inside)


device = harness.Device()

dump_tensor = device.zeros(10240)
x, y = dumped.vector_add(device, add_kernel, dump_tensor=dump_tensor)
harness.compare_dump(device, dump_tensor, x + y)
