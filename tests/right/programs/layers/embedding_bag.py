"""Tempts zerodiv, nan: means over bags of indices; an empty bag's count of 0 is raised to 1 first."""

import torch
import triton
import triton.language as tl


@triton.jit
def bags(table, index, offsets, out, D: tl.constexpr):
    bag = tl.program_id(0)
    start, end = tl.load(offsets + bag), tl.load(offsets + bag + 1)
    d = tl.arange(0, D)
    total = tl.zeros((D,), tl.float32)
    for at in range(start, end):
        total += tl.load(table + tl.load(index + at) * D + d)
    tl.store(out + bag * D + d, total / tl.maximum(end - start, 1))


torch.manual_seed(0)
table, index = torch.randn(20, 16), torch.randint(0, 20, (15,))
offsets = torch.tensor([0, 4, 4, 9, 15])
out = torch.empty(4, 16)
bags[(4,)](table, index, offsets, out, D=16)
expected = torch.nn.functional.embedding_bag(index, table, offsets, mode="mean", include_last_offset=True)
torch.testing.assert_close(out, expected)
