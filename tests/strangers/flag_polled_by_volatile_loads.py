"""A chain of programs, each of which waits for the flag of the one before it by volatile loads and acquires
it by an atomic once it is there. Right by the PTX memory model: a volatile load is a relaxed one of the
system's scope, so that it may look at what an atomic writes.

    $ run --device cpu --level ttir --check race FILE
    status  0
    $ run --device cpu --level ttgir --check race FILE
    status  0
    $ run --device cpu --level ptx --check race FILE
    status  0
    $ verify FILE
    status  0
    never  data race
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
        tl.atomic_add(flags + p - 1, 0, sem="acquire")
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
assert torch.equal(out, x.cumsum(0).int())
