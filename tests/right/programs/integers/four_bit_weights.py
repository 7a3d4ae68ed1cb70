"""Tempts levels, uninit: two signed numbers of 4 bits a byte, unpacked by shifts and put side by side."""

import torch
import triton
import triton.language as tl


@triton.jit
def unpack(packed, scale, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    byte = tl.load(packed + row * n + at, mask=at < n, other=0).to(tl.int32)
    low = (byte << 28) >> 28
    high = byte >> 4
    both = tl.interleave(low, high).to(tl.float32) * tl.load(scale + row)
    wide = tl.arange(0, 2 * B)
    tl.store(out + row * 2 * n + wide, both, mask=wide < 2 * n)


torch.manual_seed(0)
values = torch.randint(-8, 8, (5, 40), dtype=torch.int8)
packed = (values[:, 0::2] & 15) | (values[:, 1::2] << 4)
scale = torch.rand(5)
out = torch.empty(5, 40)
unpack[(5,)](packed, scale, out, 20, B=32)
assert torch.equal(out, values.float() * scale[:, None])
