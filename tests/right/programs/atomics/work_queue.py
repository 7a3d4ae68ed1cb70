"""Tempts race, order: persistent programs take rows from a counter, so that any of them may do any row."""

import torch
import triton
import triton.language as tl


@triton.jit
def worker(x, out, queue, rows, N: tl.constexpr):
    at = tl.arange(0, N)
    row = tl.atomic_add(queue, 1)
    while row < rows:
        v = tl.load(x + row * N + at)
        tl.store(out + row * N + at, v * v)
        row = tl.atomic_add(queue, 1)


torch.manual_seed(0)
x = torch.randn(13, 64)
out = torch.empty_like(x)
queue = torch.zeros(1, dtype=torch.int32)
worker[(4,)](x, out, queue, 13, N=64)
assert torch.equal(out, x * x) and queue.item() == 17
