"""Tempts hints: a linear congruential generator, whose signed sums and products wrap around on purpose."""

import torch
import triton
import triton.language as tl


@triton.jit
def generate(out, steps, B: tl.constexpr):
    at = tl.arange(0, B)
    state = at
    for _ in range(steps):
        state = state * 1664525 + 1013904223
    tl.store(out + at, state)


out = torch.empty(64, dtype=torch.int32)
generate[(1,)](out, 9, B=64)
state = torch.arange(64)
for _ in range(9):
    state = (state * 1664525 + 1013904223) % 2**32
assert torch.equal(out.long() % 2**32, state)
