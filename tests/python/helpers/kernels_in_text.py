"""Has the beginning of programs that tests write: a kernel that is right, and one whose programs race."""

TEXT = """
import torch, triton, triton.language as tl

@triton.jit
def double(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, N), x + x)

@triton.jit
def racy(out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.program_id(0))
"""
