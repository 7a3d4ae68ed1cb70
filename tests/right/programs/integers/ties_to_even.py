"""Tempts levels: halves are rounded to even by adding and taking away 1.5 * 2 ** 23, exactly, at every
level."""

import torch
import triton
import triton.language as tl


@triton.jit
def round_even(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(out + at, ((v + 12582912.0) - 12582912.0).to(tl.int8))


x = torch.arange(-64, 64) / 2 + 0.0
out = torch.empty(128, dtype=torch.int8)
round_even[(1,)](x, out, B=128)
assert torch.equal(out, x.round().to(torch.int8))
