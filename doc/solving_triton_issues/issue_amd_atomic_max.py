"""The largest of 64 numbers, some of which are negative, by an atomic maximum."""

import torch
import triton
import triton.language as tl


@triton.jit
def peak(x, out, SIZE: tl.constexpr):
    value = tl.load(x + tl.arange(0, SIZE))
    tl.atomic_max(out + value * 0, value)


numbers = torch.arange(-32, 32, dtype=torch.int32)
largest = torch.full((1,), -100, dtype=torch.int32)
peak[(1,)](numbers, largest, SIZE=64, num_warps=1)
assert largest.item() == 31, largest.item()
