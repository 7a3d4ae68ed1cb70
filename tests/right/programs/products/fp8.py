"""Tempts levels: products of fp8 on Hopper, whose tensor cores keep few bits of the sum."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, K: tl.constexpr):
    i, j = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for k0 in range(0, K, 32):
        k = k0 + tl.arange(0, 32)
        acc = tl.dot(tl.load(a + i * K + k[None, :]), tl.load(b + j * K + k[:, None]), acc)
    tl.store(c + i * 64 + j, acc)


torch.manual_seed(0)
a, b = (torch.randn(64, 64).to(torch.float8_e4m3fn) for _ in range(2))
c = torch.empty(64, 64)
matmul[(1,)](a, b, c, K=64)
torch.testing.assert_close(c, a.float() @ b.float().T, rtol=1e-2, atol=5e-2)
