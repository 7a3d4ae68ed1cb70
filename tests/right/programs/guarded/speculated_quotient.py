"""Tempts zerodiv: a branch that is taken only for divisors that are not 0 holds a scalar division."""

import torch
import triton
import triton.language as tl


@triton.jit
def shares(total, parts, out):
    p = tl.program_id(0)
    n = tl.load(parts + p)
    share = 0
    if n != 0:
        share = tl.load(total + p) // n
    tl.store(out + p, share)


total = torch.tensor([10, 20, 30, 41], dtype=torch.int32)
parts = torch.tensor([2, 0, 7, 0], dtype=torch.int32)
out = torch.empty(4, dtype=torch.int32)
shares[(4,)](total, parts, out)
assert out.tolist() == [5, 0, 4, 0]
