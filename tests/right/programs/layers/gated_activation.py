"""Tempts inf, uninit: silu(gate) * up, where exp of a very negative gate overflows and its quotient is 0."""

import torch
import triton
import triton.language as tl


@triton.jit
def swiglu(x, out, n, B: tl.constexpr):
    row, block = tl.program_id(0), tl.program_id(1)
    at = block * B + tl.arange(0, B)
    gate = tl.load(x + row * 2 * n + at, mask=at < n).to(tl.float32)
    up = tl.load(x + row * 2 * n + n + at, mask=at < n)
    tl.store(out + row * n + at, gate / (1 + tl.exp(-gate)) * up, mask=at < n)


torch.manual_seed(0)
x = torch.randn(5, 180)
x[:, 0] = -200
out = torch.empty(5, 90)
swiglu[(5, 2)](x, out, 90, B=64)
torch.testing.assert_close(out, torch.nn.functional.silu(x[:, :90]) * x[:, 90:])
