"""A program that catches the trap of its kernel: what the launch left unwritten is a consequence, and no
warning of its own.

$ verify FILE
status  1
says  oob at ttir
never  never written
says  verdict: wrong
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, o, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at) + tl.load(y + at))


x, y, o = torch.randn(100), torch.randn(100), torch.empty(100)
try:
    add[(2,)](x, y, o, B=64)
except Exception as error:
    print("caught", type(error).__name__)
