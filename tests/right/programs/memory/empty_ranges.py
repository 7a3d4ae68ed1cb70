"""Tempts uninit, oob: rows of no element, whose loops never turn and whose masks are all false."""

import torch
import triton
import triton.language as tl


@triton.jit
def segment_sums(x, offsets, out, B: tl.constexpr):
    row = tl.program_id(0)
    start = tl.load(offsets + row)
    end = tl.load(offsets + row + 1)
    total = tl.zeros((B,), tl.float32)
    for at in range(start, end, B):
        lanes = at + tl.arange(0, B)
        total += tl.load(x + lanes, mask=lanes < end, other=0.0)
    tl.store(out + row, tl.sum(total))


torch.manual_seed(0)
lengths = [0, 5, 40, 0, 0, 1, 64, 0]
offsets = torch.tensor([0, *lengths]).cumsum(0)
x = torch.randn(sum(lengths))
out = torch.empty(8)
segment_sums[(8,)](x, offsets, out, B=16)
torch.testing.assert_close(out, torch.stack([part.sum() for part in x.split(lengths)]))
