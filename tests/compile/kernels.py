"""Cases with Triton kernels of the user's inside torch.compile."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from models import case, randn, row


@triton.jit
def add_kernel(x, y, out, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, (tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask)) * scale, mask=mask)


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((64, 2), (256, 4))], key=["n"])
@triton.jit
def tuned_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) * 2, mask=at < n)


@triton.jit
def histogram_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


def _grid(n):
    return lambda meta: (triton.cdiv(n, meta["BLOCK"]),)


@case("user's kernels")
def users_kernel(d):
    def f(x, y):
        x = x.sin()
        out = torch.empty_like(x)
        add_kernel[_grid(x.numel())](x, y, out, x.numel(), 0.5, BLOCK=128)
        return out.cos()

    return f, (randn(1000, device=d), randn(1000, device=d))


@case("user's kernels")
def users_autotuned_kernel(d):
    def f(x):
        out = torch.empty_like(x)
        tuned_kernel[_grid(x.numel())](x, out, x.numel())
        return out + x

    return f, (randn(700, device=d),)


@case("user's kernels")
def users_atomics(d):
    def f(x):
        out = torch.zeros(16, dtype=torch.int32, device=x.device)
        histogram_kernel[_grid(x.numel())](x, out, x.numel(), BLOCK=64)
        return out * 2

    return f, (torch.randint(0, 16, (500,), device=d, dtype=torch.int32),)


@torch.library.triton_op("triton_runner_tests::doubled", mutates_args={})
def doubled(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(tuned_kernel)[_grid(x.numel())](x, out, x.numel())
    return out


doubled.register_autograd(lambda ctx, grad: grad * 2)


row("user's kernels", "users_operator", lambda x: doubled(x.sin()), (300,), grad=True)
