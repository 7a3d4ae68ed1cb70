"""Blocks of 8-bit integers that are scaled by the factor of the transposed block. The program says
how large the errors may be, and its intermediate tensors are gone by then.

    $ verify FILE right
    status  0
    says  verdict: right
    $ verify FILE wrong
    status  1
    says  y_ptr[61, 79] is -30.1502, and is compared with -2.11148
    says  q_ptr[61, 79]: tt.load at
    says  scale_of_another_block.py:49
    says  s_ptr[2, 1]: tt.load at
    says  scale_of_another_block.py:51
    says  s_ptr is what quant_kernel writes: tt.store at
    says  scale_of_another_block.py:39
    never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def quant_kernel(x_ptr, q_ptr, s_ptr, M, N, BLOCK: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = pid_m * BLOCK + tl.arange(0, BLOCK)
    offs_n = pid_n * BLOCK + tl.arange(0, BLOCK)
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    at = offs_m[:, None] * N + offs_n[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    s = tl.maximum(tl.max(tl.abs(x)) / 127.0, 1e-8)
    q = tl.floor(x / s + 0.5).to(tl.int8)
    tl.store(q_ptr + at, q, mask=mask)
    tl.store(s_ptr + pid_m * tl.cdiv(N, BLOCK) + pid_n, s)


@triton.jit
def dequant_kernel(q_ptr, s_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = pid_m * BLOCK + tl.arange(0, BLOCK)
    offs_n = pid_n * BLOCK + tl.arange(0, BLOCK)
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    at = offs_m[:, None] * N + offs_n[None, :]
    q = tl.load(q_ptr + at, mask=mask, other=0).to(tl.float32)
    if WRONG:
        s = tl.load(s_ptr + pid_n * tl.cdiv(N, BLOCK) + pid_m)
    else:
        s = tl.load(s_ptr + pid_m * tl.cdiv(N, BLOCK) + pid_n)
    tl.store(y_ptr + at, (q * s).to(y_ptr.dtype.element_ty), mask=mask)


def roundtrip(x, block=32):
    M, N = x.shape
    grid = (triton.cdiv(M, block), triton.cdiv(N, block))
    q, s, y = torch.empty(M, N, dtype=torch.int8), torch.empty(grid), torch.empty_like(x)
    quant_kernel[grid](x, q, s, M, N, BLOCK=block)
    dequant_kernel[grid](q, s, y, M, N, BLOCK=block)
    return y, s


torch.manual_seed(0)
x = torch.randn(96, 90) * torch.logspace(-2, 1, 96)[:, None]
y, s = roundtrip(x)
bound = s.repeat_interleave(32, 0).repeat_interleave(32, 1)[:96, :90] * 0.51
error = (x - y).abs()
print("max error / bound:", (error / bound).max().item())
assert (error <= bound).all(), "quantisation error is too large"
