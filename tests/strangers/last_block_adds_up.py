"""The reduction of CUDA's threadFenceReduction sample: each program stores its sum, the last one to
arrive (by an atomic ticket) adds all of them up. Nothing is wrong with it, in any order of the programs.

$ verify FILE
status  0
says  verdict: right
never  fault
$ run --device cpu --level ptx --check race,uninit FILE
status  0
"""

import torch
import triton
import triton.language as tl


@triton.jit
def total(x, parts, ticket, out, n, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(parts + tl.program_id(0), tl.sum(tl.load(x + at, at < n, other=0)))
    tl.debug_barrier()
    if tl.atomic_add(ticket, 1) == PROGRAMS - 1:
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, PROGRAMS))))


x = torch.arange(1000, dtype=torch.int32)
parts, ticket, out = (torch.zeros(n, dtype=torch.int32) for n in (8, 1, 1))
total[(8,)](x, parts, ticket, out, 1000, BLOCK=128, PROGRAMS=8)
assert out.item() == x.sum().item()
