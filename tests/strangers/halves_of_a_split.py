"""triton#8926: the halves of torch.split are views with longer rows, and a kernel that takes strides is
right.

    $ verify FILE
    status  0
    says  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_one(x, out, row_stride, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * row_stride + at, at < columns)
    tl.store(out + row * columns + at, value + 1, at < columns)


for half in torch.split(torch.arange(96.0).view(4, 24), 12, dim=1):
    out = torch.empty(4, 12)
    add_one[(4,)](half, out, half.stride(0), 12, BLOCK=16)
    assert torch.equal(out, half + 1)
