"""Tempts levels: a sum of 100,000 positive numbers, whose rounding depends on how a level groups them."""

import torch
import triton
import triton.language as tl


@triton.jit
def total(x, out, n, B: tl.constexpr):
    acc = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        acc += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out, tl.sum(acc))


torch.manual_seed(0)
x = torch.rand(100_000)
out = torch.empty(1)
total[(1,)](x, out, 100_000, B=1024)
torch.testing.assert_close(out[0].double(), x.double().sum(), rtol=1e-6, atol=0)
