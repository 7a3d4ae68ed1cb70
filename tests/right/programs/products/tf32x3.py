"""Tempts levels: three products of tf32 for one of f32, close to its precision."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, PRECISION: tl.constexpr):
    m, n = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    x = tl.load(a + m * 32 + n)
    y = tl.load(b + m * 32 + n)
    tl.store(c + m * 32 + n, tl.dot(x, y, input_precision=PRECISION))


torch.manual_seed(0)
a, b = torch.randn(2, 32, 32)
for precision in ("tf32x3", "ieee"):
    c = torch.empty(32, 32)
    matmul[(1,)](a, b, c, PRECISION=precision)
    torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-4)
