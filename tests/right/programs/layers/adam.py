"""Tempts nan, zerodiv, race: a step of Adam in place on three tensors, whose second moments may be 0."""

import torch
import triton
import triton.language as tl


@triton.jit
def adam_(p, g, m, v, n, lr, beta1, beta2, eps, c1, c2, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    grad = tl.load(g + at, mask=mask)
    first = beta1 * tl.load(m + at, mask=mask) + (1 - beta1) * grad
    second = beta2 * tl.load(v + at, mask=mask) + (1 - beta2) * grad * grad
    step = lr * (first / c1) / (tl.sqrt(second / c2) + eps)
    tl.store(p + at, tl.load(p + at, mask=mask) - step, mask=mask)
    tl.store(m + at, first, mask=mask)
    tl.store(v + at, second, mask=mask)


torch.manual_seed(0)
p = torch.randn(200)
g = torch.randn(200)
g[::10] = 0
reference = p.clone().requires_grad_()
reference.grad = g.clone()
torch.optim.Adam([reference], lr=0.01).step()
m, v = torch.zeros(200), torch.zeros(200)
adam_[(2,)](p, g, m, v, 200, 0.01, 0.9, 0.999, 1e-8, 1 - 0.9, 1 - 0.999, B=128)
torch.testing.assert_close(p, reference.detach(), rtol=1e-5, atol=1e-6)
