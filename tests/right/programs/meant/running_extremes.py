"""Tempts inf: infinities are where a maximum and a minimum begin."""

import torch
import triton
import triton.language as tl


@triton.jit
def extremes(x, low, high, n, B: tl.constexpr):
    row = tl.program_id(0)
    least = tl.full((B,), float("inf"), tl.float32)
    most = tl.full((B,), float("-inf"), tl.float32)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        inside = at < n
        v = tl.load(x + row * n + at, mask=inside, other=0.0)
        least = tl.where(inside, tl.minimum(least, v), least)
        most = tl.where(inside, tl.maximum(most, v), most)
    tl.store(low + row, tl.min(least, 0))
    tl.store(high + row, tl.max(most, 0))


torch.manual_seed(0)
x = torch.randn(3, 100)
low, high = torch.empty(3), torch.empty(3)
extremes[(3,)](x, low, high, 100, B=64)
assert torch.equal(low, x.min(-1).values) and torch.equal(high, x.max(-1).values)
