"""Tempts race, oob: a grid of three dimensions, whose programs meet only in an integer counter."""

import torch
import triton
import triton.language as tl


@triton.jit
def fill(out, counter, X, Y, Z):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    if (x < X) and (y < Y) and (z < Z):
        tl.store(out + (x * Y + y) * Z + z, x * 100 + y * 10 + z)
        tl.atomic_add(counter, 1)


out, counter = torch.full((2, 3, 4), -1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
fill[(3, 4, 5)](out, counter, 2, 3, 4)
x, y, z = torch.meshgrid(torch.arange(2), torch.arange(3), torch.arange(4), indexing="ij")
assert torch.equal(out, (x * 100 + y * 10 + z).int()) and counter.item() == 24
