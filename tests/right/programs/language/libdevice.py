"""Tempts nan, inf, levels: functions of libdevice inside their domains, each within some units in the last
place."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def functions(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(out + at, libdevice.tanh(v))
    tl.store(out + B + at, libdevice.pow(tl.abs(v) + 0.1, v))
    tl.store(out + 2 * B + at, libdevice.lgamma(tl.abs(v) + 0.5))
    tl.store(out + 3 * B + at, libdevice.log1p(tl.abs(v)))
    tl.store(out + 4 * B + at, libdevice.atan2(v, v + 10))
    tl.store(out + 5 * B + at, libdevice.erf(v))


torch.manual_seed(0)
x = torch.randn(64) * 2
out = torch.empty(6, 64)
functions[(1,)](x, out, B=64)
a = x.abs()
expected = [x.tanh(), (a + 0.1).pow(x), (a + 0.5).lgamma(), a.log1p(), torch.atan2(x, x + 10), x.erf()]
torch.testing.assert_close(out, torch.stack(expected), rtol=1e-4, atol=1e-5)
