"""Tempts nan: log(-1) is a NaN here and in torch, and the program tests that it is."""

import torch
import triton
import triton.language as tl


@triton.jit
def logarithm(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.log(tl.load(x + at)))


x = torch.linspace(-1, 1, 64)
out = torch.empty(64)
logarithm[(1,)](x, out, B=64)
assert out[0].isnan()
torch.testing.assert_close(out, x.log(), equal_nan=True, rtol=1e-5, atol=1e-6)
