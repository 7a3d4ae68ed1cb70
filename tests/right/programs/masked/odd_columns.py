"""Tempts oob, uninit: tiles of 32 x 64 over a matrix of 45 x 119 stick out at two sides."""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tile = tl.load(x + m[:, None] * N + n[None, :], mask=inside)
    tl.store(out + n[:, None] * M + m[None, :], tl.trans(tile), mask=tl.trans(inside))


torch.manual_seed(0)
x = torch.randn(45, 119).half()
out = torch.empty(119, 45, dtype=torch.float16)
transpose[(2, 2)](x, out, 45, 119, BM=32, BN=64)
assert torch.equal(out, x.T)
