"""Tempts zerodiv, levels: // and % of integers truncate towards 0 in Triton, as in C and not as in Python."""

import torch
import triton
import triton.language as tl


@triton.jit
def divide(x, y, quotient, remainder, n, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at, mask=at < n, other=0)
    b = tl.load(y + at, mask=at < n, other=1)
    tl.store(quotient + at, a // b, mask=at < n)
    tl.store(remainder + at, a % b, mask=at < n)


x = torch.arange(-50, 50)
y = torch.tensor([-7, -3, 3, 7]).repeat(25)
quotient, remainder = torch.empty_like(x), torch.empty_like(x)
divide[(1,)](x, y, quotient, remainder, 100, B=128)
assert torch.equal(quotient, torch.div(x, y, rounding_mode="trunc"))
assert torch.equal(remainder, torch.fmod(x, y))
