"""Launches two kernels, which are right."""

import torch
import triton
import triton.language as tl
import triton_runner


@triton.jit
def plain(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton.jit
def bounded(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.maximum(tl.load(x + i, i < n), 0), i < n)


x = torch.ones(1000)
out = torch.empty_like(x)
with triton_runner.using(device="cpu"):
    for kernel in (plain, bounded):
        kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
