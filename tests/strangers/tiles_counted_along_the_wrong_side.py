"""Tiles of a matrix that is wider than high, numbered by how many there are along its height.

$ verify FILE
status  1
says  every level gives the same, and no check finds a fault
says  out[0, 64] is 0, and is compared with -1.16527; 4,096 of 8,192 elements differ
says  no program of add writes it; 4,096 of 8,192 elements of out are written, by tt.store at
says  tiles_counted_along_the_wrong_side.py:24
never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, M, N, BLOCK: tl.constexpr):
    tiles = tl.cdiv(M, BLOCK)
    rows = tl.program_id(0) // tiles * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(0) % tiles * BLOCK + tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


torch.manual_seed(5)
x, y = torch.randn(64, 128), torch.randn(64, 128)
out = torch.zeros(64, 128)
add[(8,)](x, y, out, 64, 128, BLOCK=32)
assert torch.equal(out, x + y)
