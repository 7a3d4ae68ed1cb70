"""Tempts levels: the index of a maximum that occurs several times is the smallest one."""

import torch
import triton
import triton.language as tl


@triton.jit
def argmax(x, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + row * n + at, mask=at < n, other=-1)
    tl.store(out + row, tl.argmax(v, 0, tie_break_left=True))


torch.manual_seed(0)
x = torch.randint(0, 4, (10, 90), dtype=torch.int32)
out = torch.empty(10, dtype=torch.int32)
argmax[(10,)](x, out, 90, B=128)
assert out.tolist() == [row.index(max(row)) for row in x.tolist()]
