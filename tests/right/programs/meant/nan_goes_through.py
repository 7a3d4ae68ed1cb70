"""Tempts nan, nanload: a maximum that passes NaN on, as torch.maximum does."""

import torch
import triton
import triton.language as tl


@triton.jit
def maximum(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at, mask=at < n)
    b = tl.load(y + at, mask=at < n)
    tl.store(out + at, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL), mask=at < n)


torch.manual_seed(4)
x, y = torch.randn(90), torch.randn(90)
x[3] = y[70] = float("nan")
out = torch.empty(90)
maximum[(3,)](x, y, out, 90, B=32)
torch.testing.assert_close(out, torch.maximum(x, y), equal_nan=True)
