"""Tempts race, order: each program stores its part and takes a ticket; who takes the last adds all the
parts."""

import torch
import triton
import triton.language as tl


@triton.jit
def total(x, parts, ticket, out, n, B: tl.constexpr, PROGRAMS: tl.constexpr):
    p = tl.program_id(0)
    at = p * B + tl.arange(0, B)
    tl.store(parts + p, tl.sum(tl.load(x + at, mask=at < n, other=0.0)))
    tl.debug_barrier()
    number = tl.atomic_add(ticket, 1, sem="acq_rel")
    if number == PROGRAMS - 1:
        tl.debug_barrier()
        lanes = tl.arange(0, 16)
        tl.store(out, tl.sum(tl.load(parts + lanes, mask=lanes < PROGRAMS, other=0.0)))
        tl.store(ticket, 0)


torch.manual_seed(0)
x = torch.randn(1000)
parts, out, ticket = torch.empty(16), torch.empty(1), torch.zeros(1, dtype=torch.int32)
total[(8,)](x, parts, ticket, out, 1000, B=128, PROGRAMS=8)
torch.testing.assert_close(out[0], x.sum(), rtol=1e-4, atol=1e-4)
assert ticket.item() == 0
