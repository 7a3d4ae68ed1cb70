"""The running maximum of row 2 of a softmax, and its sum of exponentials: two dumps, one after the other."""

import sys
from pathlib import Path

import triton.language as tl
import triton_runner
import triton_runner.language as dl

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness


@triton_runner.jit
def softmax_kernel(out_ptr, in_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * cols
    lanes = tl.arange(0, BLOCK)
    highest = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        x = tl.load(in_ptr + row + start + lanes, mask=start + lanes < cols, other=-float("inf"))
        highest = tl.maximum(highest, x)
        dl.dump(highest, 0, 2)
    row_max = tl.max(highest, axis=0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        x = tl.load(in_ptr + row + start + lanes, mask=start + lanes < cols, other=-float("inf"))
        total += tl.exp(x - row_max)
    row_sum = tl.sum(total, axis=0)
    dl.dump(row_sum, BLOCK, 2)
    for start in range(0, cols, BLOCK):
        inside = start + lanes < cols
        x = tl.load(in_ptr + row + start + lanes, mask=inside)
        tl.store(out_ptr + row + start + lanes, tl.exp(x - row_max) / row_sum, mask=inside)


device = harness.Device()
debug_tensor = device.zeros(256 + 1)
x = dumped.softmax(device, softmax_kernel, debug_tensor=debug_tensor)
row = device.host(x)[2]
expected = device.host(device.zeros(256 + 1))
for lane in range(256):
    expected[lane] = row[lane::256].max()
expected[256] = device.xp.exp(row - row.max()).sum()
harness.compare_dump(device, debug_tensor, expected, tolerance=1e-3)
