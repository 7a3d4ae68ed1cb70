"""Tempts zerodiv: assertions that hold, at compile time and at run time, before the division that they
guard."""

# verify: --launches 4
import torch
import triton
import triton.language as tl


@triton.jit
def ratios(x, y, out, n, B: tl.constexpr):
    tl.static_assert(B % 16 == 0, "whole sectors")
    at = tl.arange(0, B)
    v = tl.load(y + at, mask=at < n, other=1)
    tl.device_assert(v > 0, "divisors are positive")
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0) // v, mask=at < n)


x, y = torch.arange(100), torch.arange(1, 101) % 7 + 1
out = torch.empty_like(x)
ratios[(1,)](x, y, out, 100, B=128)
assert torch.equal(out, x // y)
