"""Tempts nan, inf: parts of a sequence are merged by their logarithms of sums; a part without keys has
-inf there, and a weight of exp(-inf) = 0."""

import torch
import triton
import triton.language as tl


@triton.jit
def merge(parts, lse, out, SPLITS: tl.constexpr, D: tl.constexpr):
    row = tl.program_id(0)
    s = tl.arange(0, SPLITS)
    d = tl.arange(0, D)
    logs = tl.load(lse + row * SPLITS + s)
    weight = tl.exp(logs - tl.max(logs, 0))
    part = tl.load(parts + (row * SPLITS + s)[:, None] * D + d[None, :])
    tl.store(out + row * D + d, tl.sum(part * weight[:, None], 0) / tl.sum(weight, 0))


torch.manual_seed(0)
scores, values = torch.randn(5, 8, 6), torch.randn(5, 8, 6, 16)
scores[0, 3:] = -float("inf")
scores[4, :7] = -float("inf")
lse = scores.logsumexp(-1)
parts = (torch.nan_to_num(torch.softmax(scores, -1), 0.0)[..., None] * values).sum(-2)
out = torch.empty(5, 16)
merge[(5,)](parts, lse, out, SPLITS=8, D=16)
weights = torch.softmax(scores.flatten(1), -1)
torch.testing.assert_close(out, (weights[..., None] * values.flatten(1, 2)).sum(1), rtol=1e-5, atol=1e-5)
