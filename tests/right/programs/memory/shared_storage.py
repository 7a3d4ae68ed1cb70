"""Tempts race, oob: two arguments are views of one buffer, of its even and its odd elements."""

import torch
import triton
import triton.language as tl


@triton.jit
def into_odd(even, odd, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(odd + 2 * at, -tl.load(even + 2 * at, mask=at < n), mask=at < n)


buffer = torch.arange(200.0)
into_odd[(2,)](buffer[0::2], buffer[1::2], 100, B=64)
assert torch.equal(buffer[0::2], torch.arange(0.0, 200.0, 2))
assert torch.equal(buffer[1::2], -torch.arange(0.0, 200.0, 2))
