"""triton#955: // rounds to zero in a kernel, where Python rounds down; the program's own check fails.

$ verify FILE down
status  1
says  verdict: wrong
$ verify FILE zero
status  0
says  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def halve(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) // 2, at < n)


rounding = "floor" if sys.argv[1] == "down" else "trunc"
x = torch.arange(-9, 10, dtype=torch.int32)
out = torch.empty_like(x)
halve[(1,)](x, out, x.numel(), BLOCK=32)
assert torch.equal(out, torch.div(x, 2, rounding_mode=rounding))
