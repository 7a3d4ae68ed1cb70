"""Counts by integer atomics do not depend on the order of the programs: right, and not "nondeterministic".

$ verify FILE
status  0
says  verdict: right
never  nondeterministic
"""

import torch
import triton
import triton.language as tl


@triton.jit
def count(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + at, at < n, other=0), 1, at < n)


torch.manual_seed(2)
x = torch.randint(0, 10, (500,), dtype=torch.int32)
bins = torch.zeros(10, dtype=torch.int32)
count[(4,)](x, bins, 500, BLOCK=128)
assert torch.equal(bins, torch.bincount(x, minlength=10).int())
