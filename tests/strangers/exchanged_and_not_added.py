"""A sum whose atomics exchange where they should add: the last block stays.

$ verify --strict FILE
status  1
says  only the order of atomics decides it: tt.atomic_rmw at
says  exchanged_and_not_added.py:22
says  verdict: nondeterministic
$ verify FILE
status  0
says  the order of atomics decides an output of total
never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_xchg(out, tl.sum(tl.load(x + at, at < n, other=0), 0))


x = torch.arange(1000, dtype=torch.int32)
out = torch.zeros(1, dtype=torch.int32)
total[(4,)](x, out, 1000, BLOCK=256)
print("total", out.item())
