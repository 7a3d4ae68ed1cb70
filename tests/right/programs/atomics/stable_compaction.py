"""Tempts race: counts first, then their prefix sums, then stores: the slots do not depend on any order."""

import torch
import triton
import triton.language as tl


@triton.jit
def count(x, counts, n, B: tl.constexpr):
    p = tl.program_id(0)
    at = p * B + tl.arange(0, B)
    tl.store(counts + p, tl.sum((tl.load(x + at, mask=at < n, other=0.0) > 0).to(tl.int32)))


@triton.jit
def write(x, starts, out, n, B: tl.constexpr):
    p = tl.program_id(0)
    at = p * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=0.0)
    keep = v > 0
    number = keep.to(tl.int32)
    tl.store(out + tl.load(starts + p) + tl.cumsum(number, 0) - number, v, mask=keep)


torch.manual_seed(0)
x = torch.randn(700)
counts = torch.empty(6, dtype=torch.int32)
count[(6,)](x, counts, 700, B=128)
out = torch.empty(int(counts.sum()))
write[(6,)](x, counts.cumsum(0) - counts, out, 700, B=128)
assert torch.equal(out, x[x > 0])
