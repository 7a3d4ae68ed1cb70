"""Tempts order: keys go into an open-addressed table by atomic_cas; where a key lies depends on who came
first, and which keys are there does not."""

import torch
import triton
import triton.language as tl


@triton.jit
def insert(keys, table, inserted, SIZE: tl.constexpr):
    key = tl.load(keys + tl.program_id(0))
    slot = (key * 40503) % SIZE
    old = tl.atomic_cas(table + slot, -1, key)
    while (old != -1) & (old != key):
        slot = (slot + 1) % SIZE
        old = tl.atomic_cas(table + slot, -1, key)
    tl.atomic_add(inserted, (old == -1).to(tl.int32))


torch.manual_seed(0)
keys = torch.randint(0, 40, (40,), dtype=torch.int32)
table = torch.full((64,), -1, dtype=torch.int32)
inserted = torch.zeros(1, dtype=torch.int32)
insert[(40,)](keys, table, inserted, SIZE=64)
distinct = keys.unique()
assert torch.equal(table[table >= 0].sort().values, distinct)
assert inserted.item() == len(distinct)
