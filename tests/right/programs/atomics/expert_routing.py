"""Tempts order: tokens take their places in their expert's block by an atomic counter, in no particular
order."""

import torch
import triton
import triton.language as tl


@triton.jit
def route(expert, starts, taken, token_of, n, B: tl.constexpr):
    token = tl.program_id(0) * B + tl.arange(0, B)
    inside = token < n
    e = tl.load(expert + token, mask=inside, other=0)
    place = tl.atomic_add(taken + e, 1, mask=inside)
    tl.store(token_of + tl.load(starts + e, mask=inside, other=0) + place, token, mask=inside)


torch.manual_seed(0)
tokens, experts, block = 90, 5, 16
expert = torch.randint(0, experts, (tokens,), dtype=torch.int32)
counts = torch.bincount(expert, minlength=experts)
padded = (counts + block - 1) // block * block
starts = (padded.cumsum(0) - padded).int()
token_of = torch.full((int(padded.sum()),), -1, dtype=torch.int32)
taken = torch.zeros(experts, dtype=torch.int32)
route[(3,)](expert, starts, taken, token_of, tokens, B=32)
for e in range(experts):
    mine = token_of[starts[e] : starts[e] + padded[e]]
    assert torch.equal(mine[: counts[e]].sort().values, (expert == e).nonzero()[:, 0].int())
    assert (mine[counts[e] :] == -1).all()
