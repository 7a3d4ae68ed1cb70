"""Tempts race: a rotation of halves in place: both halves are read before either is written."""

import torch
import triton
import triton.language as tl


@triton.jit
def rotate_(x, cos, sin, heads, HALF: tl.constexpr):
    t, h = tl.program_id(0), tl.program_id(1)
    d = tl.arange(0, HALF)
    base = x + (t * heads + h) * 2 * HALF
    c, s = tl.load(cos + t * HALF + d), tl.load(sin + t * HALF + d)
    a, b = tl.load(base + d), tl.load(base + HALF + d)
    tl.store(base + d, a * c - b * s)
    tl.store(base + HALF + d, b * c + a * s)


torch.manual_seed(0)
x = torch.randn(6, 4, 32)
angle = torch.outer(torch.arange(6.0), 10000.0 ** -(torch.arange(16) / 16))
a, b = x[..., :16].clone(), x[..., 16:].clone()
cos, sin = angle.cos(), angle.sin()
rotate_[(6, 4)](x, cos, sin, 4, HALF=16)
c, s = cos[:, None], sin[:, None]
torch.testing.assert_close(x, torch.cat((a * c - b * s, b * c + a * s), -1))
