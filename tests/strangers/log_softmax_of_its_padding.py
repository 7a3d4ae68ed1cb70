"""A logarithm of a softmax that counts its padding as zeros.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  log_softmax_of_its_padding.py:29: `-inf` in place of `0`
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def log_softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    if WRONG:
        x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0)
    else:
        x = tl.load(x_ptr + row * n + cols, mask=mask, other=float("-inf"))
    m = tl.max(x, axis=0)
    z = x - m
    lse = tl.log(tl.sum(tl.exp(z), axis=0))
    tl.store(y_ptr + row * n + cols, z - lse, mask=mask)


torch.manual_seed(3)
x = torch.randn(20, 77)
y = torch.empty_like(x)
log_softmax_kernel[(20,)](x, y, 77, BLOCK=128)
torch.testing.assert_close(y, torch.log_softmax(x, 1))
