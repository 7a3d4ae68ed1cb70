"""The sums of program 3 of a vector addition."""

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
    dl.dump(output, 0, 3)
    tl.store(out_ptr + offsets, output, mask=inside)


device = harness.Device()

debug_tensor = device.zeros(1024)
x, y = dumped.vector_add(device, add_kernel, debug_tensor=debug_tensor)
harness.compare_dump(device, debug_tensor, (x + y)[3 * 1024 : 4 * 1024])
