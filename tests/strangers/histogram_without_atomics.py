"""The same counts by a load and a store: programs lose each other's, and elements of one program, too.

$ verify FILE
status  1
says  race
says  verdict: wrong
"""

import torch
import triton
import triton.language as tl


@triton.jit
def count(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bin = bins + tl.load(x + at, at < n, other=0)
    tl.store(bin, tl.load(bin, at < n) + 1, at < n)


torch.manual_seed(2)
x = torch.randint(0, 10, (500,), dtype=torch.int32)
bins = torch.zeros(10, dtype=torch.int32)
count[(4,)](x, bins, 500, BLOCK=128)
