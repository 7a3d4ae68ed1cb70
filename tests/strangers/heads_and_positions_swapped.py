"""A rotary embedding of a transposed view, called with the strides of heads and positions swapped.

$ verify FILE right
status  0
says  verdict: right
$ verify FILE wrong
status  1
says  out_ptr[0, 0, 1, 0] is
says  x_ptr[0, 1, 0, 0]: tt.load at
says  heads_and_positions_swapped.py:52
says  cos_ptr[1, 0]: tt.load at
says  heads_and_positions_swapped.py:54
says  6,912 of 10,240 elements of x_ptr are read by no program
never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def rope_kernel(
    x_ptr,
    cos_ptr,
    sin_ptr,
    out_ptr,
    stride_xb,
    stride_xh,
    stride_xs,
    stride_xd,
    stride_ob,
    stride_oh,
    stride_os,
    stride_od,
    seq_len,
    n_heads,
    HALF: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    pid_s = tl.program_id(0)
    pid_bh = tl.program_id(1)
    b, h = pid_bh // n_heads, pid_bh % n_heads
    offs_s = pid_s * BLOCK_S + tl.arange(0, BLOCK_S)
    offs_d = tl.arange(0, HALF)
    mask = offs_s[:, None] < seq_len
    x_base = x_ptr + b * stride_xb + h * stride_xh
    x1 = tl.load(x_base + offs_s[:, None] * stride_xs + offs_d[None, :] * stride_xd, mask=mask)
    x2 = tl.load(x_base + offs_s[:, None] * stride_xs + (offs_d[None, :] + HALF) * stride_xd, mask=mask)
    cos = tl.load(cos_ptr + offs_s[:, None] * HALF + offs_d[None, :], mask=mask)
    sin = tl.load(sin_ptr + offs_s[:, None] * HALF + offs_d[None, :], mask=mask)
    o_base = out_ptr + b * stride_ob + h * stride_oh
    tl.store(
        o_base + offs_s[:, None] * stride_os + offs_d[None, :] * stride_od, x1 * cos - x2 * sin, mask=mask
    )
    tl.store(
        o_base + offs_s[:, None] * stride_os + (offs_d[None, :] + HALF) * stride_od,
        x2 * cos + x1 * sin,
        mask=mask,
    )


def rope(x, cos, sin):
    B, H, S, D = x.shape
    out = torch.empty(B, H, S, D, dtype=x.dtype)
    if WRONG:
        strides = x.stride(0), x.stride(2), x.stride(1), x.stride(3)
    else:
        strides = x.stride(0), x.stride(1), x.stride(2), x.stride(3)
    grid = (triton.cdiv(S, 16), B * H)
    rope_kernel[grid](
        x,
        cos,
        sin,
        out,
        *strides,
        *out.stride(),
        S,
        H,
        HALF=D // 2,
        BLOCK_S=16,
    )
    return out


torch.manual_seed(0)
B, H, S, D = 2, 4, 40, 32
x = torch.randn(B, S, H, D).transpose(1, 2)
freqs = torch.outer(torch.arange(S).float(), 1.0 / 10000 ** (torch.arange(0, D, 2) / D))
cos, sin = freqs.cos(), freqs.sin()
out = rope(x, cos, sin)
rotated = torch.cat((-x[..., D // 2 :], x[..., : D // 2]), dim=-1)
expected = x * torch.cat((cos, cos), -1) + rotated * torch.cat((sin, sin), -1)
torch.testing.assert_close(out, expected)
