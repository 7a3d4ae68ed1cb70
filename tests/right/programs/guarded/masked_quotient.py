"""Tempts zerodiv: past the end `other=0` gives 0 // 0, in lanes that the store drops."""

import torch
import triton
import triton.language as tl


@triton.jit
def quotient(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    inside = at < n
    a = tl.load(x + at, mask=inside, other=0)
    b = tl.load(y + at, mask=inside, other=0)
    tl.store(out + at, a // b, mask=inside)


x = torch.arange(0, 300, 3, dtype=torch.int32)
y = torch.arange(1, 101, dtype=torch.int32)
out = torch.zeros(100, dtype=torch.int32)
quotient[(2,)](x, y, out, 100, B=64)
assert torch.equal(out, x // y)
