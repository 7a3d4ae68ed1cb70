"""Tempts levels: sorting numbers of which many are equal; among equals there is nothing to tell."""

import torch
import triton
import triton.language as tl


@triton.jit
def sort_rows(x, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.sort(tl.load(x + at), descending=True))


torch.manual_seed(0)
x = torch.randint(-3, 4, (3, 64)).float()
out = torch.empty_like(x)
sort_rows[(3,)](x, out, N=64)
assert torch.equal(out, x.sort(1, descending=True).values)
