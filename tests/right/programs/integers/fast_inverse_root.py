"""Tempts levels: bits of floats as integers and back; three steps of Newton make the magic number exact
enough."""

import torch
import triton
import triton.language as tl


@triton.jit
def inverse_root(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=1.0)
    y = (0x5F3759DF - (v.to(tl.int32, bitcast=True) >> 1)).to(tl.float32, bitcast=True)
    for _ in tl.static_range(3):
        y *= 1.5 - 0.5 * v * y * y
    tl.store(out + at, y, mask=at < n)


torch.manual_seed(0)
x = torch.rand(100) * 100 + 0.01
out = torch.empty(100)
inverse_root[(1,)](x, out, 100, B=128)
torch.testing.assert_close(out, x.rsqrt(), rtol=1e-5, atol=0)
