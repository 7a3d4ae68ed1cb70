"""Tempts levels: the upper half of products of 32 bits, beside the same in 64 bits."""

import torch
import triton
import triton.language as tl


@triton.jit
def high(x, y, out, wide, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at).to(tl.uint32, bitcast=True)
    b = tl.load(y + at).to(tl.uint32, bitcast=True)
    tl.store(out + at, tl.umulhi(a, b).to(tl.int32, bitcast=True))
    tl.store(wide + at, ((a.to(tl.uint64) * b.to(tl.uint64)) >> 32).to(tl.int64))


torch.manual_seed(0)
x, y = torch.randint(-(2**31), 2**31, (2, 64)).int()
out, wide = torch.empty(64, dtype=torch.int32), torch.empty(64, dtype=torch.int64)
high[(1,)](x, y, out, wide, B=64)
expected = [(a % 2**32) * (b % 2**32) >> 32 for a, b in zip(x.tolist(), y.tolist(), strict=True)]
assert wide.tolist() == expected and [v % 2**32 for v in out.tolist()] == expected
