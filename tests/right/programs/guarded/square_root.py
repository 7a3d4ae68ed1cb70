"""Tempts nan: the root of negative numbers, which where() replaces."""

import torch
import triton
import triton.language as tl


@triton.jit
def signed_root(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, at < n, other=-1.0)
    tl.store(out + at, tl.where(v >= 0, tl.sqrt(v), -tl.sqrt(-v)), at < n)


torch.manual_seed(3)
x = torch.randn(150)
out = torch.empty(150)
signed_root[(3,)](x, out, 150, B=64)
torch.testing.assert_close(out, x.sign() * x.abs().sqrt())
