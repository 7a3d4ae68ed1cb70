"""Tempts inf: exp(100) overflows to an infinity, and 1 / (1 + inf) is the 0 that a sigmoid has there."""

import torch
import triton
import triton.language as tl


@triton.jit
def sigmoid(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, 1 / (1 + tl.exp(-tl.load(x + at))))


x = torch.linspace(-120, 120, 128)
out = torch.empty(128)
sigmoid[(1,)](x, out, B=128)
torch.testing.assert_close(out, torch.sigmoid(x), rtol=1e-5, atol=1e-7)
assert out[0] == 0 and out[-1] == 1
