"""A mask that leaves out what does not fill a group of four. The mean is taken of all elements.

$ verify FILE
status  1
says  kernel 'relu': out: 3 of 1,003 elements were never written, the first is 1000
says  tt.store at
says  tail_that_stays_empty.py:20
never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def relu(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n // 4 * 4
    tl.store(out + at, tl.maximum(tl.load(x + at, inside), 0.0), inside)


torch.manual_seed(4)
x = torch.randn(1003)
out = torch.empty(1003)
relu[(triton.cdiv(1003, 256),)](x, out, 1003, BLOCK=256)
print("mean", out.mean().item())
