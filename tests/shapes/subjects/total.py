"""The sum of all elements: each program of its block, then one of all."""

import torch
import triton
import triton.language as tl


@triton.jit
def parts_kernel(x, parts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n, other=0.0).to(tl.float32)
    tl.store(parts + tl.program_id(0), tl.sum(value, 0))


@triton.jit
def last_kernel(parts, out, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(parts + at, at < n, other=0.0)
    tl.store(out, tl.sum(total, 0))


def total(x):
    x = x.contiguous()
    programs = triton.cdiv(x.numel(), 1024)
    parts = torch.empty(programs, dtype=torch.float32, device=x.device)
    out = torch.empty(1, dtype=torch.float32, device=x.device)
    parts_kernel[(programs,)](x, parts, x.numel(), BLOCK=1024)
    last_kernel[(1,)](parts, out, programs, BLOCK=64)
    return out


def reference(x):
    return x.sum(dtype=torch.float32).reshape(1)


if __name__ == "__main__":
    x = torch.randn(1024, device="cuda")
    assert torch.allclose(total(x), reference(x), atol=1e-3)
