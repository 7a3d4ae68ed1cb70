"""Columns that are centered by the means of the rows.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  centered_along_the_other_axis.py:29: `axis=0` in place of `axis=1`
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def center_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    x = tl.load(x_ptr + tl.program_id(0) * N * N + at)
    if WRONG:
        mean = tl.sum(x, axis=1) / N
    else:
        mean = tl.sum(x, axis=0) / N
    tl.store(y_ptr + tl.program_id(0) * N * N + at, x - mean[None, :])


torch.manual_seed(5)
x = torch.randn(6, 32, 32)
y = torch.empty_like(x)
center_kernel[(6,)](x, y, 32)
torch.testing.assert_close(y, x - x.mean(1, keepdim=True))
