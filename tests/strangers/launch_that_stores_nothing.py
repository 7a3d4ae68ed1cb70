"""The output holds the result before the kernel runs, as where a test computes the reference into the same
tensor, and the kernel stores nothing: it has no store, or its mask is false for every element. The
comparison would hold without it. A kernel that stores what is there already is compared.

$ verify FILE empty
status  0
says  no program of empty stores anything in this launch, so that no comparison depends on it
says  verdict: no fault found
never  compare it by an assertion
$ verify FILE masked
status  0
says  no program of double stores anything in this launch, so that no comparison depends on it
says  verdict: no fault found
$ verify FILE again
status  0
says  the result was compared by the program: assert at
says  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def empty(x, out, n, B: tl.constexpr):
    pass


@triton.jit
def double(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at) * 2, mask=at < n)


x = torch.arange(64.0)
out = x + x
kernel = empty if sys.argv[1] == "empty" else double
kernel[(1,)](x, out, 64 if sys.argv[1] == "again" else 0, B=64)
assert torch.equal(out, x * 2)
