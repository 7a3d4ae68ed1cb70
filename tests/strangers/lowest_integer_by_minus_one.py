"""One of the dividends is the lowest integer, and the divisor is -1: the quotient has no place in 32 bits.
LLVM leaves it undefined, and a GPU gives the lowest integer.

    $ run --device cpu --check zerodiv FILE
    status  1
    says  integer overflow in arith.divsi
    says  the quotient does not fit into 32 bits
    $ run --device cpu --level ptx --check zerodiv FILE
    status  1
    says  the quotient does not fit into 32 bits: -2147483648 / -1
    $ verify FILE
    status  1
    says  zerodiv at ttir, ttgir, ptx
"""

import torch
import triton
import triton.language as tl


@triton.jit
def quotients(a, b, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(a + at) // tl.load(b + at))


a = torch.arange(64, dtype=torch.int32)
a[9] = -(2**31)
b = torch.full((64,), -1, dtype=torch.int32)
quotients[(1,)](a, b, torch.empty_like(a), N=64)
