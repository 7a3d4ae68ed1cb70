"""Tempts order, race: parts of K are added to C by float atomics, whose order rounds otherwise."""

import torch
import triton
import triton.language as tl


@triton.jit
def split_k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(tl.program_id(2) * BK, K, BK * SPLIT):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.atomic_add(
        c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N), sem="relaxed"
    )


torch.manual_seed(0)
a, b = torch.randn(40, 100).half(), torch.randn(100, 50).half()
c = torch.zeros(40, 50)
split_k[(2, 2, 3)](a, b, c, 40, 50, 100, BM=32, BN=32, BK=16, SPLIT=3)
torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-3, atol=1e-3)
