"""Tempts nan, inf: both branches of where() are computed: log of a number below 0, and a quotient by 0."""

import torch
import triton
import triton.language as tl


@triton.jit
def mixed(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at)
    far = tl.log(v)
    near = tl.where(v == 0, 1.0, (tl.exp(v) - 1) / v)
    tl.store(out + at, tl.where(v > 1, far, near))


x = torch.linspace(-2, 4, 97)[:64].clone()
x[10] = 0.0
x[11] = 1.0
out = torch.empty(64)
mixed[(1,)](x, out, N=64)
near = torch.where(x == 0, torch.ones(()), torch.expm1(x) / x)
torch.testing.assert_close(out, torch.where(x > 1, x.log(), near), rtol=1e-4, atol=1e-5)
