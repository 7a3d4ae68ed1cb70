"""Tempts race, uninit: lanes exchange values through global scratch of torch.empty, with a barrier
between."""

import torch
import triton
import triton.language as tl


@triton.jit
def bit_reversed(x, scratch, out, LOG: tl.constexpr):
    N: tl.constexpr = 1 << LOG
    row = tl.program_id(0) * N
    at = tl.arange(0, N)
    to = tl.zeros((N,), tl.int32)
    for bit in tl.static_range(LOG):
        to |= ((at >> bit) & 1) << (LOG - 1 - bit)
    tl.store(scratch + row + to, tl.load(x + row + at))
    tl.debug_barrier()
    tl.store(out + row + at, tl.load(scratch + row + at) * 2)


torch.manual_seed(0)
x = torch.randn(3, 256)
out = torch.empty_like(x)
bit_reversed[(3,)](x, torch.empty_like(x), out, LOG=8)
order = torch.tensor([int(f"{i:08b}"[::-1], 2) for i in range(256)])
assert torch.equal(out, x[:, order] * 2)
