"""Tempts inf, nan, zerodiv: floats divided by 0 are infinities and NaNs, as in torch."""

import torch
import triton
import triton.language as tl


@triton.jit
def divide(x, y, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at) / tl.load(y + at))


torch.manual_seed(0)
x, y = torch.randn(32), torch.randn(32)
y[::4] = 0
x[8] = 0
out = torch.empty(32)
divide[(1,)](x, y, out, B=32)
torch.testing.assert_close(out, x / y, equal_nan=True, rtol=1e-6, atol=0)
assert out.isinf().sum() == 7 and out.isnan().sum() == 1
