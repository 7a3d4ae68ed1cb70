"""Tempts order, race: the gradient of an embedding; rows that occur twice are added to twice."""

import torch
import triton
import triton.language as tl


@triton.jit
def embedding_backward(grad, index, out, n, D: tl.constexpr, ROWS: tl.constexpr):
    at = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    i = tl.load(index + at, mask=at < n, other=0)
    d = tl.arange(0, D)[None, :]
    g = tl.load(grad + at[:, None] * D + d, mask=(at < n)[:, None])
    tl.atomic_add(out + i[:, None] * D + d, g, mask=(at < n)[:, None])


torch.manual_seed(0)
grad = torch.randn(50, 16)
index = torch.randint(0, 12, (50,))
out = torch.zeros(12, 16)
embedding_backward[(7,)](grad, index, out, 50, D=16, ROWS=8)
torch.testing.assert_close(out, torch.zeros(12, 16).index_add_(0, index, grad))
