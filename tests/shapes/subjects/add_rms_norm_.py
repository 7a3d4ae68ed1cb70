"""The residual is added to x and kept, and x becomes its norm: both arguments are written to."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_norm_kernel(x, residual, w, x_row, residual_row, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < D
    value = tl.load(x + row * x_row + at, inside, other=0.0).to(tl.float32)
    value += tl.load(residual + row * residual_row + at, inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / D + eps)
    weight = tl.load(w + at, inside, other=0.0).to(tl.float32)
    tl.debug_barrier()  # a layout that repeats its elements reads each of them more than once
    tl.store(residual + row * residual_row + at, value, inside)
    tl.store(x + row * x_row + at, value * scale * weight, inside)


def add_rms_norm_(x, residual, w, eps=1e-6):
    rows, D = x.shape
    if x.stride(1) != 1 or residual.stride(1) != 1 or w.stride(0) != 1:
        raise ValueError("rows have to be contiguous")
    if rows and D:
        grid = (rows,)
        block = triton.next_power_of_2(D)
        add_norm_kernel[grid](x, residual, w, x.stride(0), residual.stride(0), D, eps, BLOCK=block)


def reference(x, residual, w, eps=1e-6):
    total = x.float() + residual.float() if x.dtype != torch.float64 else x + residual
    normed = total * torch.rsqrt(total.square().mean(-1, keepdim=True) + eps) * w.to(total.dtype)
    return normed.to(x.dtype), total.to(residual.dtype)


if __name__ == "__main__":
    x, y, w = (
        torch.randn(6, 48, device="cuda"),
        torch.randn(6, 48, device="cuda"),
        torch.rand(48, device="cuda"),
    )
    normed, total = reference(x, y, w)
    add_rms_norm_(x, y, w)
    assert torch.allclose(x, normed, atol=1e-4) and torch.allclose(y, total, atol=1e-4)
