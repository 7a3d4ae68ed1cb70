"""Tempts oob: tensors of one element, and blocks of one lane."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, 3 * tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def add_one(x, out):
    tl.store(out, tl.load(x) + 1)


x = torch.tensor([7.0])
out = torch.empty(1)
scale[(1,)](x, out, 1, B=1)
assert out.item() == 21
scale[(1,)](x, out, 1, B=64)
assert out.item() == 21
add_one[(1,)](x, out)
assert out.item() == 8
