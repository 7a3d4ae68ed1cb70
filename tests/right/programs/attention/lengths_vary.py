"""Tempts nan, oob: sequences of several lengths lie one after another, and one of them is empty."""

import torch
import triton
import triton.language as tl


@triton.jit
def attend(q, k, v, o, offsets, D: tl.constexpr, B: tl.constexpr):
    start = tl.load(offsets + tl.program_id(0))
    end = tl.load(offsets + tl.program_id(0) + 1)
    if start == end:
        return
    t = start + tl.arange(0, B)
    d = tl.arange(0, D)
    at = t[:, None] * D + d[None, :]
    inside = (t < end)[:, None]
    query = tl.load(q + at, mask=inside, other=0.0)
    key = tl.load(k + at, mask=inside, other=0.0)
    s = tl.dot(query, tl.trans(key), input_precision="ieee")
    s = tl.where((t < end)[None, :], s, -1.0e30)
    p = tl.exp(s - tl.max(s, 1)[:, None])
    p /= tl.sum(p, 1)[:, None]
    value = tl.load(v + at, mask=inside, other=0.0)
    tl.store(o + at, tl.dot(p, value, input_precision="ieee"), mask=inside)


torch.manual_seed(0)
lengths = [9, 0, 16, 1]
offsets = torch.tensor([0, *lengths]).cumsum(0).int()
q, k, v = torch.randn(3, sum(lengths), 16)
o = torch.empty_like(q)
attend[(4,)](q, k, v, o, offsets, D=16, B=16)
parts = [
    torch.softmax(a @ b.T, -1) @ c for a, b, c in zip(*(x.split(lengths) for x in (q, k, v)), strict=True)
]
torch.testing.assert_close(o, torch.cat(parts), rtol=1e-4, atol=1e-5)
