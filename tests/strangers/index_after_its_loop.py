"""chunk_retention of TritonBench: a variable of a loop is used after the loop, where the language leaves it
undefined. TTIR and PTX take different values for it, so that one of them stores nothing.

$ verify FILE
status  1
says  fault, uninit at ttir
says  its value is undefined
says  the levels differ: this compiler does not define it either
says  verdict: wrong
$ verify FILE own
status  0
says  verdict: right
never  uninit
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def sums(x_ptr, out_ptr, n, last, IS_OWN: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for part in range(n - 1, -1, -1):
        total += tl.load(x_ptr + part * BLOCK + columns)
    if IS_OWN:
        part = last
    tl.store(out_ptr + columns, total, mask=part * BLOCK + columns < BLOCK)


x = torch.arange(64, dtype=torch.float32)
out = torch.zeros(32)
is_own = "own" in sys.argv
sums[(1,)](x, out, 2, 0, IS_OWN=is_own, BLOCK=32)
assert not is_own or torch.equal(out, x[:32] + x[32:])
