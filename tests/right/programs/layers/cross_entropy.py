"""Tempts oob, inf: a target of -100 is left out before it becomes an offset; the loss is summed from -inf
on."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def cross_entropy(logits, target, loss, grad, n, ignore, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    t = tl.load(target + row)
    if t == ignore:
        tl.store(loss + row, 0.0)
        tl.store(grad + row * n + at, tl.zeros((B,), tl.float32), mask=at < n)
        return
    v = tl.load(logits + row * n + at, mask=at < n, other=-float("inf"))
    top = tl.max(v, 0)
    e = tl.exp(v - top)
    total = tl.sum(e, 0)
    tl.store(loss + row, tl.log(total) + top - tl.load(logits + row * n + t))
    tl.store(grad + row * n + at, e / total - tl.where(at == t, 1.0, 0.0), mask=at < n)


torch.manual_seed(0)
logits = (torch.randn(8, 100) * 5).requires_grad_()
target = torch.randint(0, 100, (8,))
target[::3] = -100
expected = F.cross_entropy(logits, target, reduction="none")
expected_grad = torch.autograd.grad(expected.sum(), logits)[0]
loss, grad = torch.empty(8), torch.empty(8, 100)
cross_entropy[(8,)](logits.detach(), target, loss, grad, 100, -100, B=128)
torch.testing.assert_close(loss, expected.detach(), rtol=1e-5, atol=1e-5)
torch.testing.assert_close(grad, expected_grad, rtol=1e-4, atol=1e-6)
