"""Means of rows by a sum along the other axis. The tiles are square, so that every shape fits.

$ verify FILE
status  1
says  every level gives the same, and no check finds a fault
says  out[0, 0] is -0.295062, and is compared with 0.296022; 128 of 128 elements differ
says  writes it; it is made of tt.reduce along axis 0 at
says  means_of_the_wrong_axis.py:22 x[0, 0:32, 0]: tt.load at
never  are read by no program
never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def means(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tile = tl.load(x + tl.program_id(0) * ROWS * COLUMNS + rows[:, None] * COLUMNS + columns[None, :])
    mean = tl.sum(tile, 0) / COLUMNS
    tl.store(out + tl.program_id(0) * ROWS + rows, mean)


torch.manual_seed(3)
x = torch.randn(4, 32, 32)
out = torch.empty(4, 32)
means[(4,)](x, out, ROWS=32, COLUMNS=32)
assert torch.allclose(out, x.mean(2), atol=1e-5)
