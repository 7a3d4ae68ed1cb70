"""Tempts race: the output is the input; each element is read and written by one program only."""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_(x, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(x + at, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask=at < n)


torch.manual_seed(0)
x = torch.randn(300)
expected = torch.nn.functional.gelu(x)
gelu_[(3,)](x, 300, B=128)
torch.testing.assert_close(x, expected)
