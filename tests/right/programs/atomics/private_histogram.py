"""Tempts race: tl.histogram within a program, then one atomic a bin."""

import torch
import triton
import triton.language as tl


@triton.jit
def histogram(x, bins, B: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mine = tl.histogram(tl.load(x + at), BINS)
    tl.atomic_add(bins + tl.arange(0, BINS), mine, sem="relaxed")


torch.manual_seed(0)
x = torch.randint(0, 32, (1024,), dtype=torch.int32)
bins = torch.zeros(32, dtype=torch.int32)
histogram[(4,)](x, bins, B=256, BINS=32)
assert torch.equal(bins, torch.bincount(x, minlength=32).int())
