"""A backward pass that takes the gradient for contiguous, which autograd hands over transposed. It keeps
no tensor of the launch but the gradients.

    $ verify FILE right
    status  0
    says  verdict: right
    $ verify FILE wrong
    status  1
    says  every level gives the same, and no check finds a fault
    says  dgate[0, 1] is
    says  dout[1, 0]: tt.load at
    says  gradient_that_is_transposed.py:43
    says  gate[0, 1]: tt.load at
    says  gradient_that_is_transposed.py:44
    never  verdict: right
"""

import sys

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def swiglu_fwd(gate, up, out, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    g = tl.load(gate + row * n_cols + cols, mask=mask, other=0)
    u = tl.load(up + row * n_cols + cols, mask=mask, other=0)
    tl.store(out + row * n_cols + cols, g * tl.sigmoid(g) * u, mask=mask)


@triton.jit
def swiglu_bwd(dout, gate, up, dgate, dup, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    d = tl.load(dout + row * n_cols + cols, mask=mask, other=0)
    g = tl.load(gate + row * n_cols + cols, mask=mask, other=0)
    u = tl.load(up + row * n_cols + cols, mask=mask, other=0)
    sig = tl.sigmoid(g)
    tl.store(dgate + row * n_cols + cols, d * u * (sig + g * sig * (1 - sig)), mask=mask)
    tl.store(dup + row * n_cols + cols, d * g * sig, mask=mask)


class SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        gate, up = gate.contiguous(), up.contiguous()
        out = torch.empty_like(gate)
        swiglu_fwd[(gate.shape[0],)](
            gate, up, out, gate.shape[1], BLOCK=triton.next_power_of_2(gate.shape[1])
        )
        ctx.save_for_backward(gate, up)
        return out

    @staticmethod
    def backward(ctx, dout):
        gate, up = ctx.saved_tensors
        if not WRONG:
            dout = dout.contiguous()
        dgate, dup = torch.empty_like(gate), torch.empty_like(up)
        swiglu_bwd[(gate.shape[0],)](
            dout, gate, up, dgate, dup, gate.shape[1], BLOCK=triton.next_power_of_2(gate.shape[1])
        )
        return dgate, dup


torch.manual_seed(0)
gate, up = torch.randn(24, 48, requires_grad=True), torch.randn(24, 48, requires_grad=True)
weight = torch.randn(48, 24)
out = SwiGLU.apply(gate, up)
(out.t() * weight).sum().backward()
dgate, dup = gate.grad, up.grad
gate.grad = up.grad = None
ref = F.silu(gate) * up
(ref.t() * weight).sum().backward()
torch.testing.assert_close(out, ref)
torch.testing.assert_close(dgate, gate.grad)
torch.testing.assert_close(dup, up.grad)
