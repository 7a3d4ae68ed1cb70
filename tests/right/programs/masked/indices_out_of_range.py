"""Tempts oob: indices of -1 (padding) and past the end are masked before anything is read."""

import torch
import triton
import triton.language as tl


@triton.jit
def lookup(table, index, out, rows, D: tl.constexpr):
    p = tl.program_id(0)
    i = tl.load(index + p)
    d = tl.arange(0, D)
    there = (i >= 0) & (i < rows)
    tl.store(out + p * D + d, tl.load(table + i * D + d, mask=there, other=0.0))


torch.manual_seed(0)
table = torch.randn(10, 16)
index = torch.tensor([3, -1, 0, 9, 10, 1000000, -7, 5])
out = torch.empty(8, 16)
lookup[(8,)](table, index, out, 10, D=16)
for row, i in zip(out, index.tolist(), strict=True):
    assert torch.equal(row, table[i] if 0 <= i < 10 else torch.zeros(16))
