"""An update in place: its case has what one launch leaves as the expected result, and not what a second
one would.

$ bundle -o FOLDER/increment.trcase FILE
status  0
$ run FOLDER/increment.trcase
status  0
never  wrong
"""

import torch
import triton
import triton.language as tl


@triton.jit
def increment(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < n) + 1, at < n)


x = torch.arange(100.0)
increment[(1,)](x, 100, BLOCK=128)
assert torch.equal(x, torch.arange(100.0) + 1)
