"""Tempts levels, race: gradients of attention from the kept logarithms of the sums; each program owns its
keys, and adds to the queries' gradient by atomics."""

import torch
import triton
import triton.language as tl


@triton.jit
def backward(q, k, v, do, lse, delta, dq, dk, dv, scale, T: tl.constexpr, D: tl.constexpr, BN: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = tl.arange(0, T)
    d = tl.arange(0, D)
    rows, cols = m[:, None] * D + d[None, :], n[:, None] * D + d[None, :]
    query, grad = tl.load(q + rows), tl.load(do + rows)
    key, value = tl.load(k + cols), tl.load(v + cols)
    s = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
    p = tl.exp(s - tl.load(lse + m)[:, None])
    p = tl.where(m[:, None] >= n[None, :], p, 0.0)
    tl.store(dv + cols, tl.dot(tl.trans(p), grad, input_precision="ieee"))
    dp = tl.dot(grad, tl.trans(value), input_precision="ieee")
    ds = p * (dp - tl.load(delta + m)[:, None]) * scale
    tl.store(dk + cols, tl.dot(tl.trans(ds), query, input_precision="ieee"))
    tl.atomic_add(dq + rows, tl.dot(ds, key, input_precision="ieee"), sem="relaxed")


torch.manual_seed(0)
T, D, scale = 32, 16, 0.25
q, k, v = (torch.randn(T, D).requires_grad_() for _ in range(3))
do = torch.randn(T, D)
s = (q @ k.T * scale).masked_fill(~torch.ones(T, T).tril().bool(), -float("inf"))
o = torch.softmax(s, -1) @ v
expected = torch.autograd.grad(o, (q, k, v), do)
lse, delta = s.logsumexp(-1).detach(), (o * do).sum(-1).detach()
q, k, v = q.detach(), k.detach(), v.detach()
dq, dk, dv = torch.zeros(T, D), torch.empty(T, D), torch.empty(T, D)
backward[(2,)](q, k, v, do, lse, delta, dq, dk, dv, scale, T=T, D=D, BN=16)
for got, wanted in zip((dq, dk, dv), expected, strict=True):
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
