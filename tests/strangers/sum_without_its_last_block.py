"""A sum of rows whose loop ends one block early.

$ verify FILE
status  1
says  every level gives the same, and no check finds a fault
says  out[0] is 194.181, and is compared with 259.615; 8 of 8 elements differ
says  tt.store at
says  sum_without_its_last_block.py:26, program (0, 0, 0), writes it
says  1,024 of 4,096 elements of x are read by no program, the first is x[0, 384]: tt.load at
says  sum_without_its_last_block.py:25 hint:
never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns - BLOCK, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + at, at < columns, other=0.0)
    tl.store(out + row, tl.sum(total, 0))


torch.manual_seed(1)
x = torch.rand(8, 512)
out = torch.empty(8)
row_sum[(8,)](x, out, 512, BLOCK=128)
torch.testing.assert_close(out, x.sum(1))
