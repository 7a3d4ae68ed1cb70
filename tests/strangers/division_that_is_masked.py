"""Divisions of elements that the mask drops, by a divisor of 0 that `other=0` made: no result depends on
them.

$ verify FILE
status  0
says  verdict: right
never  fault
"""

import torch
import triton
import triton.language as tl


@triton.jit
def ratios(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside, other=1) // tl.load(y + at, inside, other=0), inside)


x = torch.arange(100, dtype=torch.int32)
y = torch.arange(1, 101, dtype=torch.int32)
out = torch.empty_like(x)
ratios[(2,)](x, y, out, 100, BLOCK=64)
assert torch.equal(out, x // y)
