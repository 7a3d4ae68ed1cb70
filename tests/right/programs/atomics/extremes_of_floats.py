"""Tempts race, inf: atomic_max and atomic_min of floats, which begin at infinities and do not depend on
order."""

import torch
import triton
import triton.language as tl


@triton.jit
def extremes(x, high, low, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_max(high, tl.max(tl.load(x + at, mask=at < n, other=-float("inf")), 0))
    tl.atomic_min(low, tl.min(tl.load(x + at, mask=at < n, other=float("inf")), 0))


torch.manual_seed(0)
x = torch.randn(900)
high, low = torch.full((1,), -float("inf")), torch.full((1,), float("inf"))
extremes[(8,)](x, high, low, 900, B=128)
assert high.item() == x.max().item() and low.item() == x.min().item()
