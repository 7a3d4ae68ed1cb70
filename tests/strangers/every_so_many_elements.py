"""Every so many elements of an array that has fewer than are asked for: the step is 0, and no machine defines
the remainder.

    $ verify FILE
    status  1
    says  division by zero in arith.remsi at
    says  every_so_many_elements.py:21:
    says  with 0 in its place 'out' holds something else
    never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def samples(x, out, n, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    step = n // count
    chosen = (at < n) & (at % step == 0)
    tl.store(out + at, tl.load(x + at, chosen, other=0.0), at < n)


x = torch.arange(1, 25, dtype=torch.float32)
out = torch.empty(24)
samples[(1,)](x, out, 24, 32, BLOCK=32)
print(out)
