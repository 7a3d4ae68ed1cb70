"""The sum of a vector by a kernel that is launched for half of it, in a program that asserts: every level
computes what the kernel says, which is not what the program expects.

    $ verify FILE
    status  1
    says  total, grid (4, 1, 1), cuda:90: no fault found
    says  the program's assertion failed at
    says  assertion_fails.py:30: the sum of 1024 ones is 1024.0
    says  assert result.item() == 1024
    says  every level gives the same, and no check finds a fault
    says  the kernel, and not the compiler, computes what the program does not expect
    says  verdict: wrong
    never  : right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def total(x, parts, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    tl.store(parts + program, tl.sum(tl.load(x + program * BLOCK + tl.arange(0, BLOCK)), 0))


parts = torch.zeros(4)
total[(4,)](torch.ones(1024), parts, BLOCK=128)
result = parts.sum()
assert result.item() == 1024, "the sum of 1024 ones is 1024.0"
