"""Tempts nan: a weight of 0 times a value of inf would be a NaN; the product is formed only where the
weight counts, and otherwise dropped."""

import torch
import triton
import triton.language as tl


@triton.jit
def weighted(x, w, out, N: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, N)
    v = tl.load(x + row * N + at)
    weight = tl.load(w + at)
    tl.store(out + row, tl.sum(tl.where(weight == 0, 0.0, v * weight), 0))


torch.manual_seed(0)
x, w = torch.randn(4, 32), torch.rand(32)
w[::5] = 0
x[:, 10] = float("inf")
x[1, 15] = -float("inf")
out = torch.empty(4)
weighted[(4,)](x, w, out, N=32)
torch.testing.assert_close(out, (torch.nan_to_num(x, 0, 0, 0) * w).sum(-1))
