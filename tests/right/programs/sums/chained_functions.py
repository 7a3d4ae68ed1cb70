"""Tempts levels: exp, log, sine and division one after another, each within its rounding at each level."""

import torch
import triton
import triton.language as tl


@triton.jit
def chain(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=0.0)
    v = tl.log(1 + tl.exp(v))
    v = tl.sin(v) / (1 + v * v)
    tl.store(out + at, tl.exp2(v * 3), mask=at < n)


torch.manual_seed(0)
x = torch.randn(500) * 3
out = torch.empty(500)
chain[(2,)](x, out, 500, B=256)
v = torch.nn.functional.softplus(x)
torch.testing.assert_close(out, torch.exp2(3 * v.sin() / (1 + v * v)), rtol=1e-4, atol=1e-5)
