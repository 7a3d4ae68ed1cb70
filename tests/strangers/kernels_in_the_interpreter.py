"""A program sets TRITON_INTERPRET=1 itself, as many do to have no need of a GPU. Its kernels then run in
Triton's interpreter, where no launch is seen.

$ verify FILE
status  125
says  with TRITON_INTERPRET=1 the program's kernels run in Triton's interpreter
says  no kernel was launched
says  verdict: no launch
$ run FILE
status  0
never  TRITON_INTERPRET
"""

import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at) * 2)


x = torch.arange(64.0)
out = torch.empty_like(x)
double[(1,)](x, out, N=64)
assert torch.equal(out, x * 2)
