"""The sums of the first and of the last program of a vector addition in Gluon, one after the other."""

import sys
from pathlib import Path

import triton_runner
import triton_runner.language as dl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness


@triton_runner.jit
@gluon.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    inside = offsets < n
    x = gl.load(x_ptr + offsets, mask=inside)
    y = gl.load(y_ptr + offsets, mask=inside)
    output = x + y
    dl.dump(output)
    dl.dump_boundary(output, BLOCK)
    gl.store(out_ptr + offsets, output, mask=inside)


device = harness.Device()
dump_tensor = device.zeros(2 * 1024)
x, y = dumped.vector_add(device, add_kernel, dump_tensor=dump_tensor)
total = x + y
harness.compare_dump(device, dump_tensor, device.xp.concatenate([total[:1024], total[-1024:]]))
