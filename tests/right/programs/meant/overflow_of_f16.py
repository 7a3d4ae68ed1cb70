"""Tempts inf: a square that f16 cannot hold is an infinity, which the loss scaler of a trainer looks for."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(grad, scale, overflow, n, B: tl.constexpr):
    at = tl.arange(0, B)
    g = tl.load(grad + at, mask=at < n, other=0.0).to(tl.float32) * scale
    half = g.to(tl.float16)
    tl.store(grad + at, half, mask=at < n)
    bad = tl.max((tl.abs(half.to(tl.float32)) == float("inf")).to(tl.int32), 0)
    tl.store(overflow, bad)


torch.manual_seed(0)
grad = (torch.randn(100) * 10).half()
expected = (grad.float() * 8192.0).half()
overflow = torch.zeros(1, dtype=torch.int32)
scaled[(1,)](grad, 8192.0, overflow, 100, B=128)
assert torch.equal(grad, expected) and bool(overflow) == bool(expected.isinf().any())
assert bool(overflow)
