"""Tempts nanload: minimum and maximum of IEEE 754, as fmin and fmax have them: the other operand where one
is NaN."""

import torch
import triton
import triton.language as tl


@triton.jit
def clamped(x, low, high, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    v = tl.maximum(v, tl.load(low + at))
    v = tl.minimum(v, tl.load(high + at))
    tl.store(out + at, v)


torch.manual_seed(5)
x = torch.randn(64)
low, high = torch.full((64,), -0.5), torch.full((64,), 0.5)
low[::7] = float("nan")
high[::9] = float("nan")
out = torch.empty(64)
clamped[(1,)](x, low, high, out, B=64)
assert torch.equal(out, torch.fmin(torch.fmax(x, low), high))
