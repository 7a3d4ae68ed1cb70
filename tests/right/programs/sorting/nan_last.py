"""Tempts nanload: NaNs are replaced by inf before the sort, and put back after the numbers."""

import torch
import triton
import triton.language as tl


@triton.jit
def sort_nans_last(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at)
    there = v == v
    ordered = tl.sort(tl.where(there, v, float("inf")))
    tl.store(out + at, tl.where(at < tl.sum(there.to(tl.int32)), ordered, float("nan")))


torch.manual_seed(0)
x = torch.randn(64)
x[::6] = float("nan")
out = torch.empty(64)
sort_nans_last[(1,)](x, out, N=64)
torch.testing.assert_close(out, x.sort().values, rtol=0, atol=0, equal_nan=True)
