"""Tempts order, race: programs take slots of the output by atomic_add; which elements come first is left
open, and the program compares sorted."""

import torch
import triton
import triton.language as tl


@triton.jit
def compact(x, out, counter, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, at < n, other=0.0)
    keep = (v > 0) & (at < n)
    number = keep.to(tl.int32)
    slot = tl.cumsum(number, 0) - number
    base = tl.atomic_add(counter, tl.sum(number, 0))
    tl.store(out + base + slot, v, keep)


torch.manual_seed(0)
x = torch.randn(700)
out, counter = torch.zeros(700), torch.zeros(1, dtype=torch.int32)
compact[(6,)](x, out, counter, 700, B=128)
kept = int(counter)
assert torch.equal(out[:kept].sort().values, x[x > 0].sort().values)
assert not out[kept:].any()
