"""Tempts levels: flip, trans, join, split, interleave, cat and gather only move values; none may change."""

import torch
import triton
import triton.language as tl


@triton.jit
def reorder(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at)
    even, odd = tl.split(tl.reshape(v, (N // 2, 2)))
    swapped = tl.interleave(odd, even)
    turned = tl.reshape(tl.trans(tl.reshape(swapped, (N // 8, 8))), (N,))
    index = (at * 5) % N
    tl.store(out + at, tl.gather(tl.flip(turned), index, 0))


x = torch.arange(128.0)
out = torch.empty(128)
reorder[(1,)](x, out, N=128)
v = x.reshape(64, 2).flip(1).reshape(16, 8).T.reshape(128).flip(0)
assert torch.equal(out, v[(torch.arange(128) * 5) % 128])
