"""Tempts zerodiv: `%` by a modulus that is 0 in places. The divisor is made 1 there: where() around the
remainder would not do, since LLVM drops a select that only a division by zero could take."""

import torch
import triton
import triton.language as tl


@triton.jit
def wrap(value, modulus, out, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(value + at)
    m = tl.load(modulus + at)
    tl.store(out + at, tl.where(m == 0, v, v % tl.where(m == 0, 1, m)))


torch.manual_seed(2)
value = torch.randint(0, 1000, (128,))
modulus = torch.randint(0, 4, (128,))
out = torch.empty_like(value)
wrap[(1,)](value, modulus, out, B=128)
safe = modulus.clamp(min=1)
assert torch.equal(out, torch.where(modulus == 0, value, value % safe))
