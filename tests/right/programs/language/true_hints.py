"""Tempts hints: multiple_of, max_contiguous and assume, all of which hold."""

import torch
import triton
import triton.language as tl


@triton.jit
def blocks(x, out, stride, n, B: tl.constexpr):
    tl.assume(stride > 0)
    row = tl.program_id(0)
    start = tl.multiple_of(tl.program_id(1) * B, B)
    at = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, B), B), B)
    v = tl.load(x + row * stride + at, mask=at < n, other=0.0, cache_modifier=".cg")
    tl.store(out + row * stride + at, v + 1, mask=at < n, eviction_policy="evict_first")


torch.manual_seed(0)
x = torch.randn(4, 112)
out = torch.empty_like(x)
blocks[(4, 2)](x, out, 112, 112, B=64)
assert torch.equal(out, x + 1)
