"""Tempts levels: weights of 4 bits with a scale and a zero point for each group of 32, expanded before the
product."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(x, packed, scale, zero, y, K: tl.constexpr, N: tl.constexpr, GROUP: tl.constexpr):
    m, n = tl.arange(0, 16), tl.arange(0, N)
    acc = tl.zeros((16, N), tl.float32)
    for g in range(K // GROUP):
        k = g * GROUP + tl.arange(0, GROUP)
        word = tl.load(packed + (k // 2)[:, None] * N + n[None, :])
        code = (word >> ((k % 2) * 4)[:, None].to(tl.uint8)) & 15
        s = tl.load(scale + g * N + n)
        z = tl.load(zero + g * N + n)
        w = ((code.to(tl.float32) - z[None, :]) * s[None, :]).to(tl.float16)
        acc = tl.dot(tl.load(x + m[:, None] * K + k[None, :]), w, acc)
    tl.store(y + m[:, None] * N + n[None, :], acc)


torch.manual_seed(0)
K, N = 96, 64
codes = torch.randint(0, 16, (K, N), dtype=torch.uint8)
packed = codes[0::2] | (codes[1::2] << 4)
scale, zero = torch.rand(K // 32, N) + 0.1, torch.randint(0, 16, (K // 32, N)).float()
x, y = torch.randn(16, K).half(), torch.empty(16, N)
matmul[(1,)](x, packed, scale, zero, y, K=K, N=N, GROUP=32)
w = ((codes.float() - zero.repeat_interleave(32, 0)) * scale.repeat_interleave(32, 0)).half()
torch.testing.assert_close(y, x.float() @ w.float(), rtol=1e-3, atol=2e-2)
