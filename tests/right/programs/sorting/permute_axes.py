"""Tempts oob, levels: three axes in another order, with a tail in each."""

import torch
import triton
import triton.language as tl


@triton.jit
def permute(x, out, A, B, C, PA: tl.constexpr, PB: tl.constexpr, PC: tl.constexpr):
    a = tl.arange(0, PA)[:, None, None]
    b = tl.arange(0, PB)[None, :, None]
    c = tl.arange(0, PC)[None, None, :]
    inside = (a < A) & (b < B) & (c < C)
    v = tl.permute(tl.load(x + (a * B + b) * C + c, mask=inside, other=0.0), (2, 0, 1))
    there = tl.permute(inside, (2, 0, 1))
    to = tl.permute((c * A + a) * B + b, (2, 0, 1))
    tl.store(out + to, v, mask=there)


torch.manual_seed(0)
x = torch.randn(7, 13, 5)
out = torch.empty(5, 7, 13)
permute[(1,)](x, out, 7, 13, 5, PA=8, PB=16, PC=8)
assert torch.equal(out, x.permute(2, 0, 1))
