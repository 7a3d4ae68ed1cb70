"""Rows of halves that are added up in halves.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  sum_in_half_precision.py:28
says  : `total` in f32 in place of f16
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def row_sum_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if WRONG:
        total = tl.zeros((BLOCK,), tl.float16)
    else:
        total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0).to(total.dtype)
    tl.store(y_ptr + row, tl.sum(total.to(tl.float32), axis=0))


torch.manual_seed(7)
x = (torch.rand(8, 5000) + 1).half()
y = torch.empty(8)
row_sum_kernel[(8,)](x, y, 5000, BLOCK=64)
torch.testing.assert_close(y, x.float().sum(1), rtol=1e-5, atol=1e-3)
