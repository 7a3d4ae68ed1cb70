"""The same chain without the atomic that acquires: the flag is seen, and the carry may still be an old one of
the cache (PTX ISA 8.4.2 and 8.8: a volatile load is relaxed, and without a fence behind it acquires nothing).

    $ run --device cpu --level ttir --check race FILE
    status  1
    says  data race in tt.load
    $ run --device cpu --level ptx --check race FILE
    status  1
    says  data race in ld.global
    $ verify FILE
    status  1
    says  data race
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scan(x, out, carry, flags, B: tl.constexpr):
    p = tl.program_id(0)
    at = p * B + tl.arange(0, B)
    v = tl.load(x + at)
    before = tl.zeros((), tl.int32)
    if p > 0:
        while tl.load(flags + p - 1, volatile=True) == 0:
            pass
        before = tl.load(carry + p - 1)
    tl.store(out + at, tl.cumsum(v, 0) + before)
    tl.store(carry + p, before + tl.sum(v, 0))
    tl.debug_barrier()
    tl.atomic_xchg(flags + p, 1, sem="release")


torch.manual_seed(0)
x = torch.randint(-5, 6, (512,), dtype=torch.int32)
out, carry = torch.empty_like(x), torch.empty(8, dtype=torch.int32)
flags = torch.zeros(8, dtype=torch.int32)
scan[(8,)](x, out, carry, flags, B=64)
