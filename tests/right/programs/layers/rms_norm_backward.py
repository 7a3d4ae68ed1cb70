"""Tempts order, levels: weights' gradients from several programs, each of which keeps its own row of
parts."""

import torch
import triton
import triton.language as tl


@triton.jit
def backward(x, w, dy, dx, parts, rows, per_program, n, eps, B: tl.constexpr):
    p = tl.program_id(0)
    at = tl.arange(0, B)
    mask = at < n
    weight = tl.load(w + at, mask=mask, other=0.0)
    dw = tl.zeros((B,), tl.float32)
    for row in range(p * per_program, min((p + 1) * per_program, rows)):
        v = tl.load(x + row * n + at, mask=mask, other=0.0)
        g = tl.load(dy + row * n + at, mask=mask, other=0.0)
        r = tl.rsqrt(tl.sum(v * v, 0) / n + eps)
        dw += g * v * r
        inner = tl.sum(g * weight * v, 0) / n
        tl.store(dx + row * n + at, r * (g * weight - v * r * r * inner), mask=mask)
    tl.store(parts + p * n + at, dw, mask=mask)


torch.manual_seed(0)
x, w = torch.randn(10, 50).requires_grad_(), torch.randn(50).requires_grad_()
dy = torch.randn(10, 50)
y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w
expected = torch.autograd.grad(y, (x, w), dy)
dx, parts = torch.empty(10, 50), torch.empty(4, 50)
backward[(4,)](x.detach(), w.detach(), dy, dx, parts, 10, 3, 50, 1e-6, B=64)
torch.testing.assert_close(dx, expected[0], rtol=1e-4, atol=1e-5)
torch.testing.assert_close(parts.sum(0), expected[1], rtol=1e-4, atol=1e-5)
