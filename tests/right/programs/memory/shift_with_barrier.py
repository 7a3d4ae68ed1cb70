"""Tempts race: each element moves one place within a program; a barrier stands between all loads and all
stores."""

import torch
import triton
import triton.language as tl


@triton.jit
def rotate_(x, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + row * B + (at + 1) % B)
    tl.debug_barrier()
    tl.store(x + row * B + at, v)


torch.manual_seed(0)
x = torch.randn(4, 256)
expected = torch.roll(x, -1, 1)
rotate_[(4,)](x, B=256)
assert torch.equal(x, expected)
