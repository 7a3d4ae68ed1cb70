"""Tempts nan, zerodiv: a mean over no elements is 0 / 0, and where() gives 0 for it."""

import torch
import triton
import triton.language as tl


@triton.jit
def masked_mean(x, keep, out, N: tl.constexpr):
    row = tl.program_id(0)
    at = row * N + tl.arange(0, N)
    k = tl.load(keep + at) != 0
    total = tl.sum(tl.where(k, tl.load(x + at), 0.0), 0)
    count = tl.sum(k.to(tl.float32), 0)
    tl.store(out + row, tl.where(count > 0, total / count, 0.0))


torch.manual_seed(0)
x = torch.randn(7, 32)
keep = (torch.rand(7, 32) > 0.5).to(torch.int8)
keep[4] = 0
out = torch.empty(7)
masked_mean[(7,)](x, keep, out, N=32)
expected = torch.nan_to_num((x * keep).sum(-1) / keep.sum(-1), 0.0)
torch.testing.assert_close(out, expected)
