"""Tempts levels, nan: E[x * x] - E[x] ** 2 of nearly constant rows cancels, and is clamped at 0 before the
root."""

import torch
import triton
import triton.language as tl


@triton.jit
def deviation(x, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + row * n + at, mask=at < n, other=0.0)
    mean = tl.sum(v, 0) / n
    variance = tl.sum(v * v, 0) / n - mean * mean
    tl.store(out + row, tl.sqrt(tl.maximum(variance, 0.0)))


torch.manual_seed(0)
x = torch.randn(6, 100) * torch.tensor([1.0, 0.1, 10, 1, 0, 3])[:, None] + 2
out = torch.empty(6)
deviation[(6,)](x, out, 100, B=128)
torch.testing.assert_close(out, x.std(1, correction=0), rtol=1e-3, atol=2e-3)
