"""A rotary embedding with a wrong sign in its second half.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  rotation_of_another_sign.py:33: `+` in place of `-`
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, y_ptr, HALF: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, HALF)
    c = tl.load(cos_ptr + row * HALF + i)
    s = tl.load(sin_ptr + row * HALF + i)
    a = tl.load(x_ptr + row * 2 * HALF + i)
    b = tl.load(x_ptr + row * 2 * HALF + HALF + i)
    first = a * c - b * s
    if WRONG:
        second = b * c - a * s
    else:
        second = b * c + a * s
    tl.store(y_ptr + row * 2 * HALF + i, first)
    tl.store(y_ptr + row * 2 * HALF + HALF + i, second)


torch.manual_seed(9)
T, HALF = 40, 32
x = torch.randn(T, 2 * HALF)
angle = torch.arange(T)[:, None] / 10000 ** (torch.arange(HALF) / HALF)
cos, sin = angle.cos(), angle.sin()
y = torch.empty_like(x)
rope_kernel[(T,)](x, cos, sin, y, HALF)
a, b = x.chunk(2, -1)
torch.testing.assert_close(y, torch.cat([a * cos - b * sin, b * cos + a * sin], -1))
