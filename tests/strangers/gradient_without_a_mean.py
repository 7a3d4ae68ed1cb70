"""The gradient of a layer norm without the mean of what comes in: each row is off by one number of its own.

$ verify FILE right
status  0
says  verdict: nondeterministic
never  UserWarning
$ verify FILE wrong
status  1
says  DX[0, 0] is -0.335538, and is compared with -0.377594; 3,200 of 3,200 elements differ
says  the difference is the same number along axis 1
says  gradient_without_a_mean.py:58, program (0, 0, 0), writes it
says  DY[0, 0:100] and 28 masked, which are 0: tt.load at
says  gradient_without_a_mean.py:47
never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def fwd(X, Y, W, B, Mean, Rstd, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(X + row * N + cols, mask=mask, other=0.0)
    mean = tl.sum(x, 0) / N
    xc = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(xc * xc, 0) / N + eps)
    y = xc * rstd * tl.load(W + cols, mask=mask) + tl.load(B + cols, mask=mask)
    tl.store(Y + row * N + cols, y, mask=mask)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)


@triton.jit
def bwd(DY, X, W, Mean, Rstd, DX, DW, DB, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(X + row * N + cols, mask=mask, other=0.0)
    dy = tl.load(DY + row * N + cols, mask=mask, other=0.0)
    w = tl.load(W + cols, mask=mask, other=0.0)
    rstd = tl.load(Rstd + row)
    xhat = tl.where(mask, (x - tl.load(Mean + row)) * rstd, 0.0)
    wdy = w * dy
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    if WRONG:
        dx = (wdy - xhat * c1) * rstd
    else:
        dx = (wdy - (xhat * c1 + c2)) * rstd
    tl.store(DX + row * N + cols, dx, mask=mask)
    tl.atomic_add(DW + cols, dy * xhat, mask=mask)
    tl.atomic_add(DB + cols, dy, mask=mask)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        M, N = x.shape
        y = torch.empty_like(x)
        mean, rstd = torch.empty(M), torch.empty(M)
        fwd[(M,)](x, y, weight, bias, mean, rstd, N, eps, BLOCK=triton.next_power_of_2(N))
        ctx.save_for_backward(x, weight, mean, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, mean, rstd = ctx.saved_tensors
        M, N = x.shape
        dx, dw, db = torch.empty_like(x), torch.zeros_like(weight), torch.zeros_like(weight)
        bwd[(M,)](dy.contiguous(), x, weight, mean, rstd, dx, dw, db, N, BLOCK=triton.next_power_of_2(N))
        return dx, dw, db, None


torch.manual_seed(0)
x = torch.randn(32, 100, requires_grad=True)
w, b = torch.rand(100, requires_grad=True), torch.rand(100, requires_grad=True)
dy = torch.randn(32, 100)
y = LayerNorm.apply(x, w, b, 1e-5)
y.backward(dy)
got = [t.grad.clone() for t in (x, w, b)]
for t in (x, w, b):
    t.grad = None
ref = torch.nn.functional.layer_norm(x, (100,), w, b, 1e-5)
ref.backward(dy)
torch.testing.assert_close(y, ref)
for name, g, t in zip(("dx", "dw", "db"), got, (x, w, b), strict=True):
    assert torch.allclose(g, t.grad, atol=1e-4), f"{name}: {(g - t.grad).abs().max().item()}"
