"""The largest element of all blocks, kept in one element that each program loads, compares and stores.

$ verify FILE
status  1
says  data race in tt.load at
says  best_of_all_blocks.py:21:
says  the other access is tt.store at
says  best_of_all_blocks.py:22:
never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def largest(x, best, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = tl.max(tl.load(x + at), 0)
    if here > tl.load(best):
        tl.store(best, here)


torch.manual_seed(2)
x = torch.randn(1024)
best = torch.full((1,), -float("inf"))
largest[(8,)](x, best, BLOCK=128)
assert best.item() == x.max().item()
