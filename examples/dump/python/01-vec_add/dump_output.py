"""The sums of the first and of the last program of a vector addition, one after the other."""

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
    dl.dump(output)
    dl.dump(output, BLOCK, (tl.num_programs(0) - 1,))
    tl.store(out_ptr + offsets, output, mask=inside)


device = harness.Device()

dump_tensor = device.zeros(2 * 1024)
x, y = dumped.vector_add(device, add_kernel, dump_tensor=dump_tensor)
total = x + y
harness.compare_dump(device, dump_tensor, device.xp.concatenate([total[:1024], total[-1024:]]))
