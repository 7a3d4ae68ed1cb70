"""Tempts inf: rsqrt(0) of a node without edges is an infinity that where() makes 0, as graph layers do."""

import torch
import triton
import triton.language as tl


@triton.jit
def normalise(adjacency, out, N: tl.constexpr):
    i = tl.arange(0, N)[:, None]
    j = tl.arange(0, N)[None, :]
    a = tl.load(adjacency + i * N + j)
    degree = tl.sum(a, 1)
    inverse = tl.where(degree > 0, tl.rsqrt(degree), 0.0)
    column = tl.sum(tl.where(i == j, inverse[:, None], 0.0), 0)
    tl.store(out + i * N + j, inverse[:, None] * a * column[None, :])


torch.manual_seed(0)
a = (torch.rand(16, 16) > 0.7).float()
a = torch.maximum(a, a.T)
a[5] = 0
a[:, 5] = 0
out = torch.empty(16, 16)
normalise[(1,)](a, out, N=16)
degree = a.sum(1)
inverse = torch.where(degree > 0, degree.rsqrt(), torch.zeros(()))
torch.testing.assert_close(out, inverse[:, None] * a * inverse[None])
