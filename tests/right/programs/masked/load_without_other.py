"""Tempts uninit: lanes past the end hold nothing, and the store's mask drops what is computed of them."""

import torch
import triton
import triton.language as tl


@triton.jit
def axpy(x, y, out, a, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    inside = at < n
    tl.store(out + at, a * tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


torch.manual_seed(0)
x, y = torch.randn(200), torch.randn(200)
out = torch.empty(200)
axpy[(4,)](x, y, out, 2.0, 200, B=64)
torch.testing.assert_close(out, 2 * x + y)
