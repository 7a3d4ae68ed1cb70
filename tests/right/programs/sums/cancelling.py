"""Tempts levels: large numbers of either sign that nearly cancel; what is left is small beside what was
added."""

import torch
import triton
import triton.language as tl


@triton.jit
def total(x, out, N: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out + row, tl.sum(tl.load(x + row * N + tl.arange(0, N))))


torch.manual_seed(0)
half = torch.randn(4, 512) * 1000
x = torch.cat((half, -half), 1)[:, torch.randperm(1024)] + torch.rand(4, 1024)
out = torch.empty(4)
total[(4,)](x, out, N=1024)
bound = 1024 * 2**-24 * x.double().abs().sum(1)
assert ((out.double() - x.double().sum(1)).abs() <= bound).all()
