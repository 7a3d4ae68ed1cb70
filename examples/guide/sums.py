"""Programs that add to one number without an atomic: a data race (doc/guide/find-a-race.md).

python examples/guide/sums.py [--atomic]
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def sums(x_ptr, total_ptr, BLOCK: tl.constexpr, ATOMIC: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    if ATOMIC:
        tl.atomic_add(total_ptr, tl.sum(x))
    else:
        total = tl.load(total_ptr)
        tl.store(total_ptr, total + tl.sum(x))


x, total = torch.arange(4096, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
sums[(64,)](x, total, BLOCK=64, ATOMIC="--atomic" in sys.argv)
print("total", total.item(), "of", x.sum().item())
