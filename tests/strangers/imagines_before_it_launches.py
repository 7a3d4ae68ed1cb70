"""A program that asks torch for shapes by fake tensors before it launches a kernel, as Helion does and others
that make kernels.

$ verify FILE
status  0
says  verdict: right
never  Multiple dispatch failed
$ verify --pretend-cuda FILE cuda
status  0
says  verdict: right
never  Multiple dispatch failed
"""

import sys

import torch
import triton
import triton.language as tl
from torch._subclasses.fake_tensor import FakeTensorMode


@triton.jit
def product(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * tl.load(y + at, mask=at < n), mask=at < n)


device = "cuda" if "cuda" in sys.argv else "cpu"
x, y = torch.randn(7, device=device), torch.randn(7, device=device)
with FakeTensorMode(allow_non_fake_inputs=True) as mode:
    fake = torch.empty_like(mode.from_tensor(x)) * mode.from_tensor(y)
    more = torch.empty_like(fake.expand(2, 7))
assert more.shape == (2, 7)
out = torch.empty(fake.shape, device=device)
product[(1,)](x, y, out, x.numel(), BLOCK=8)
torch.testing.assert_close(out, x * y)
