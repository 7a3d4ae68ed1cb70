"""The logarithm of each row's sum in program 1 of a softmax that keeps its log-sum-exp."""

import sys
from pathlib import Path

import triton.language as tl
import triton_runner
import triton_runner.language as dl

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness


@triton_runner.jit
def softmax_lse_kernel(out_ptr, lse_ptr, in_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLS)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    x = tl.load(in_ptr + r[:, None] * cols + c[None, :], mask=inside, other=-float("inf"))
    row_max = tl.max(x, axis=1)
    numerator = tl.exp(x - row_max[:, None])
    acc = tl.sum(numerator, axis=1)
    log_acc = tl.log(acc)
    dl.dump(log_acc, 0, 1)
    tl.store(lse_ptr + r, row_max + log_acc, mask=r < rows)
    tl.store(out_ptr + r[:, None] * cols + c[None, :], numerator / acc[:, None], mask=inside)


device = harness.Device()
debug_tensor = device.zeros(16)
x = dumped.softmax_lse(device, softmax_lse_kernel, debug_tensor=debug_tensor)
rows = device.host(x)[16:32]
expected = device.xp.log(device.xp.exp(rows - device.xp.amax(rows, 1)[:, None]).sum(1))
harness.compare_dump(device, debug_tensor, expected, tolerance=1e-5)
