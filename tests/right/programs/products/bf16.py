"""Tempts levels: bf16 inputs, sums in f32, a result in bf16 that a last bit of the sum may round either
way."""

import torch
import triton
import triton.language as tl


@triton.jit
def linear(x, w, bias, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, tl.cdiv(K, BK)):
        k = k0 * BK + tl.arange(0, BK)
        a = tl.load(x + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(w + n[None, :] * K + k[:, None], mask=(n[None, :] < N) & (k[:, None] < K), other=0.0)
        acc += tl.dot(a, b)
    acc += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    tl.store(y + m[:, None] * N + n[None, :], acc.to(tl.bfloat16), mask=(m[:, None] < M) & (n[None, :] < N))


torch.manual_seed(0)
x, w, bias = torch.randn(50, 100).bfloat16(), torch.randn(70, 100).bfloat16(), torch.randn(70).bfloat16()
y = torch.empty(50, 70, dtype=torch.bfloat16)
linear[(2, 3)](x, w, bias, y, 50, 70, 100, BM=32, BN=32, BK=32)
expected = (x.float() @ w.float().T + bias.float()).bfloat16()
torch.testing.assert_close(y, expected, rtol=2e-2, atol=1e-2)
