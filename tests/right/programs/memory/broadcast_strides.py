"""Tempts race, oob: expand() gives strides of 0, so that all rows are one row in memory."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, sx0, sx1, sy0, sy1, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    a = tl.load(x + i * sx0 + j * sx1)
    b = tl.load(y + i * sy0 + j * sy1)
    tl.store(out + i * N + j, a + b)


torch.manual_seed(0)
x = torch.randn(16, 1).expand(16, 32)
y = torch.randn(32).expand(16, 32)
out = torch.empty(16, 32)
add[(1,)](x, y, out, *x.stride(), *y.stride(), M=16, N=32)
assert torch.equal(out, x + y)
