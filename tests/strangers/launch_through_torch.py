"""A kernel that torch launches as a higher-order operator (torch.library.wrap_triton), as flash-attn's rotary
kernel is launched. The wrong one leaves an element of each row unwritten, and the sum after it reads them.

    $ verify --pretend-cuda FILE right
    status  0
    says  verdict: right
    never  NotImplementedError
    $ verify --pretend-cuda FILE wrong
    status  1
    says  4 of 24 elements were never written, the first is [0, 4]
    says  launch_through_torch.py:34
    never  verdict: right
    never  NotImplementedError
    $ run --pretend-cuda --check uninit FILE wrong
    status  1
    says  4 of 24 elements were never written
    never  NotImplementedError
"""

import sys

import torch
import triton
import triton.language as tl

COLUMNS = 6
WIDTH = COLUMNS if sys.argv[1] == "right" else COLUMNS - 1


@triton.jit
def turn(out, x, columns, width, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    tl.store(out + row + (at ^ 1), tl.load(x + row + at, mask=at < width), mask=at < width)


x = torch.randn(4, COLUMNS, device="cuda")
out = torch.empty_like(x)
torch.library.wrap_triton(turn)[(4,)](out, x, COLUMNS, WIDTH, BLOCK=8)
torch.testing.assert_close(out.sum(), x.sum())
torch.testing.assert_close(out, x.view(4, -1, 2).flip(-1).view_as(x))
