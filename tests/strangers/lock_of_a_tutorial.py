"""The spin lock of Triton's layer-norm tutorial: programs add their rows to one sum, one after the other.
Whole numbers, so that the order leaves the result as it is.

$ verify FILE
status  0
never  fault
$ run --device cpu --check race FILE
status  0
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_rows(x, lock, out, N: tl.constexpr):
    at = tl.arange(0, N)
    row = tl.load(x + tl.program_id(0) * N + at)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out + at, tl.load(out + at) + row)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


x = torch.randint(-8, 8, (6, 64), dtype=torch.int32)
lock, out = torch.zeros(1, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
add_rows[(6,)](x, lock, out, 64)
assert torch.equal(out, x.sum(0, dtype=torch.int32))
