"""Tempts nanload, inf: the kernel's job is to count NaNs and infinities of its input."""

import torch
import triton
import triton.language as tl


@triton.jit
def survey(x, counts, n, B: tl.constexpr):
    nans = tl.zeros((B,), tl.int32)
    infinities = tl.zeros((B,), tl.int32)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        v = tl.load(x + at, mask=at < n, other=0.0)
        nans += (v != v).to(tl.int32)
        infinities += (tl.abs(v) == float("inf")).to(tl.int32)
    tl.store(counts, tl.sum(nans))
    tl.store(counts + 1, tl.sum(infinities))


torch.manual_seed(0)
x = torch.randn(1000)
x[::17] = float("nan")
x[::31] = -float("inf")
counts = torch.zeros(2, dtype=torch.int32)
survey[(1,)](x, counts, 1000, B=128)
assert counts.tolist() == [x.isnan().sum().item(), x.isinf().sum().item()]
