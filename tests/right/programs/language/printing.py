"""Tempts levels: device_print of a few values changes nothing."""

import torch
import triton
import triton.language as tl


@triton.jit
def halves(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    if tl.program_id(0) == 0:
        tl.device_print("largest", tl.max(v, 0))
    tl.store(out + at, v / 2)


x = torch.arange(32.0)
out = torch.empty(32)
halves[(1,)](x, out, B=32)
assert torch.equal(out, x / 2)
