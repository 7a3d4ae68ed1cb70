"""A row of a table of 2.6 GB, whose offset is computed in 32 bits.

$ verify FILE
status  1
says  out of bounds in tt.load at
says  row_of_a_large_table.py:20:
says  so far from 'table', an integer may have overflowed: --check overflow says where one does
never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def gather(table, index, out, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.load(index + tl.program_id(0))
    at = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * BLOCK + at, tl.load(table + row * WIDTH + at))


table = torch.empty(40000, 65536, dtype=torch.int8)
index = torch.tensor([3, 17, 39999], dtype=torch.int32)
table[index] = 1
out = torch.empty(3, 64, dtype=torch.int8)
gather[(3,)](table, index, out, WIDTH=65536, BLOCK=64)
print(out.sum().item(), "of", out.numel())
