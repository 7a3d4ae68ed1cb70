"""Tempts levels: products of 8-bit integers, exact in 32 bits, and scaled by rows and columns afterwards."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, scale_a, scale_b, c, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0)
    y = tl.load(b + n[None, :] * K + k[:, None], mask=n[None, :] < N, other=0)
    acc = tl.dot(x, y, out_dtype=tl.int32).to(tl.float32)
    acc *= tl.load(scale_a + m, mask=m < M)[:, None] * tl.load(scale_b + n, mask=n < N)[None, :]
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


torch.manual_seed(0)
a, b = (torch.randint(-128, 128, shape, dtype=torch.int8) for shape in ((40, 64), (50, 64)))
scale_a, scale_b = torch.rand(40), torch.rand(50)
c = torch.empty(40, 50)
matmul[(2, 2)](a, b, scale_a, scale_b, c, 40, 50, K=64, BM=32, BN=32)
expected = (a.int() @ b.int().T).float() * scale_a[:, None] * scale_b[None]
torch.testing.assert_close(c, expected)
