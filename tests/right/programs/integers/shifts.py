"""Tempts levels: arithmetic and logical shifts by numbers below the width, of numbers of either sign."""

import torch
import triton
import triton.language as tl


@triton.jit
def shift(x, by, left, arithmetic, logical, B: tl.constexpr):
    at = tl.arange(0, B)
    v, s = tl.load(x + at), tl.load(by + at)
    tl.store(left + at, v << s)
    tl.store(arithmetic + at, v >> s)
    tl.store(logical + at, (v.to(tl.uint32, bitcast=True) >> s.to(tl.uint32)).to(tl.int32, bitcast=True))


torch.manual_seed(0)
x = torch.randint(-(2**31), 2**31, (128,)).int()
by = torch.arange(128, dtype=torch.int32) % 32
left, arithmetic, logical = (torch.empty(128, dtype=torch.int32) for _ in range(3))
shift[(1,)](x, by, left, arithmetic, logical, B=128)
wide, s = x.long(), by.long()
assert torch.equal(left.long() % 2**32, (wide << s) % 2**32)
assert torch.equal(arithmetic.long(), wide >> s)
assert torch.equal(logical.long() % 2**32, (wide % 2**32) >> s)
