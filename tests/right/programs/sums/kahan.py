"""Tempts levels: compensated sums, whose correction terms are 0 in exact arithmetic and must not be
simplified."""

import torch
import triton
import triton.language as tl


@triton.jit
def kahan(x, out, rows, N: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    lost = tl.zeros((N,), tl.float32)
    for row in range(rows):
        y = tl.load(x + row * N + at) - lost
        t = total + y
        lost = (t - total) - y
        total = t
    tl.store(out + at, total)


torch.manual_seed(0)
x = torch.rand(2000, 64)
out = torch.empty(64)
kahan[(1,)](x, out, 2000, N=64)
torch.testing.assert_close(out.double(), x.double().sum(0), rtol=1.3e-7, atol=0)
