"""Tempts race: all programs store the same constant to one flag, whatever their order."""

import torch
import triton
import triton.language as tl


@triton.jit
def any_negative(x, flag, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=0.0)
    if tl.min(v, 0) < 0:
        tl.store(flag, 1)


torch.manual_seed(0)
flag = torch.zeros(2, dtype=torch.int32)
x = torch.randn(500)
any_negative[(8,)](x, flag, 500, B=64)
any_negative[(8,)](x.abs(), flag[1:], 500, B=64)
assert flag.tolist() == [1, 0]
