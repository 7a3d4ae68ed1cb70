"""A kernel that goes past its array for one of the numbers that its launches differ in, with equal shapes.

$ verify FILE
status  1
says  fault, oob at
"""

import torch
import triton
import triton.language as tl


@triton.jit
def shifted(x, out, mode, N: tl.constexpr):
    at = tl.arange(0, N)
    if mode == 12:
        tl.store(out + at, tl.load(x + at + 1))
    else:
        tl.store(out + at, tl.load(x + at))


x, out = torch.ones(64), torch.empty(64)
for mode in (10, 11, 12, 13):
    shifted[(1,)](x, out, mode, N=64)
