"""Tempts uninit: of torch.empty scratch only what was written is read."""

import torch
import triton
import triton.language as tl


@triton.jit
def partial_sums(x, scratch, n, B: tl.constexpr):
    p = tl.program_id(0)
    at = p * B + tl.arange(0, B)
    tl.store(scratch + p, tl.sum(tl.load(x + at, mask=at < n, other=0.0)))


@triton.jit
def finish(scratch, out, parts, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out, tl.sum(tl.load(scratch + at, mask=at < parts, other=0.0)))


torch.manual_seed(0)
x = torch.randn(1000)
scratch, out = torch.empty(64), torch.empty(1)
blocks = triton.cdiv(1000, 128)
partial_sums[(blocks,)](x, scratch, 1000, B=128)
finish[(1,)](scratch, out, blocks, B=64)
torch.testing.assert_close(out[0], x.sum(), rtol=1e-5, atol=1e-5)
