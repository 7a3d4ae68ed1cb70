"""Tempts nan, inf, levels: online softmax from -inf, under a causal mask; the first block of each row has
a number."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, o, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * T * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    rows = head + m[:, None] * D + d[None, :]
    query = tl.load(q + rows, mask=m[:, None] < T, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    norm = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, tl.minimum((tl.program_id(0) + 1) * BM, T), BN):
        n = start + tl.arange(0, BN)
        cols = head + n[:, None] * D + d[None, :]
        key = tl.load(k + cols, mask=n[:, None] < T, other=0.0)
        value = tl.load(v + cols, mask=n[:, None] < T, other=0.0)
        s = tl.dot(query, tl.trans(key)) * scale
        s = tl.where((m[:, None] >= n[None, :]) & (n[None, :] < T), s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        keep = tl.exp(top - new)
        norm = norm * keep + tl.sum(p, 1)
        acc = tl.dot(p.to(value.dtype), value, acc * keep[:, None])
        top = new
    tl.store(o + rows, (acc / norm[:, None]).to(o.dtype.element_ty), mask=m[:, None] < T)


torch.manual_seed(0)
q, k, v = torch.randn(3, 2, 70, 32).half()
o = torch.empty_like(q)
attention[(3, 2)](q, k, v, o, 70, 32**-0.5, D=32, BM=32, BN=32)
expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)
torch.testing.assert_close(o.float(), expected, rtol=1e-2, atol=5e-3)
