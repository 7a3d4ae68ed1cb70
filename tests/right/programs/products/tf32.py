"""Tempts levels: f32 inputs with the default precision, tf32: 10 bits of mantissa, truncated or rounded."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    m = tl.arange(0, N)[:, None]
    n = tl.arange(0, N)[None, :]
    acc = tl.zeros((N, N), tl.float32)
    for k0 in range(0, K, 32):
        k = k0 + tl.arange(0, 32)
        x = tl.load(a + m * K + k[None, :])
        y = tl.load(b + k[:, None] * N + n)
        acc = tl.dot(x, y, acc, input_precision=PRECISION)
    tl.store(c + m * N + n, acc)


torch.manual_seed(0)
a, b = torch.randn(64, 128), torch.randn(128, 64)
c = torch.empty(64, 64)
matmul[(1,)](a, b, c, N=64, K=128, PRECISION="tf32")
bound = 2 * 2**-10 * (a.abs().double() @ b.abs().double())
assert ((c.double() - a.double() @ b.double()).abs() <= bound).all()
