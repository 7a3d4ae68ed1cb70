"""A quantisation to 127 steps with a scale of 128.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  quantised_by_one_more.py:31: `127` in place of `128`
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def quantise_kernel(x_ptr, q_ptr, scale_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0)
    amax = tl.max(tl.abs(x), axis=0)
    if WRONG:
        scale = amax / 128
    else:
        scale = amax / 127
    q = tl.floor(x / scale + 0.5)
    q = tl.minimum(tl.maximum(q, -127.0), 127.0)
    tl.store(q_ptr + row * n + cols, q.to(tl.int8), mask=mask)
    tl.store(scale_ptr + row, scale)


torch.manual_seed(12)
x = torch.randn(12, 200)
q = torch.empty(12, 200, dtype=torch.int8)
scale = torch.empty(12)
quantise_kernel[(12,)](x, q, scale, 200, BLOCK=256)
want = x.abs().amax(1) / 127
torch.testing.assert_close(scale, want)
assert ((q.float() * scale[:, None] - x).abs() <= scale[:, None] * 0.51).all()
