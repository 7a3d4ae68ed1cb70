"""Tempts uninit: the sum takes lanes that a masked load left open. Triton's language leaves them open and
all of its releases compile zeros, on which published kernels rely."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sums(x, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    tl.store(out + row, tl.sum(tl.load(x + row * n + at, mask=at < n), 0))


torch.manual_seed(0)
x = torch.randn(5, 45)
out = torch.empty(5)
row_sums[(5,)](x, out, 45, B=64)
torch.testing.assert_close(out, x.sum(-1))
