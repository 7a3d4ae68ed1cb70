"""Tempts oob, uninit: keys lie in pages of a cache of torch.empty, which a block table names; of the last
page only a part is written, and only that is read."""

import torch
import triton
import triton.language as tl


@triton.jit
def decode(q, cache_k, cache_v, table, lengths, o, pages, D: tl.constexpr, PAGE: tl.constexpr):
    b = tl.program_id(0)
    length = tl.load(lengths + b)
    d = tl.arange(0, D)
    query = tl.load(q + b * D + d)
    top, norm = -float("inf"), 0.0
    acc = tl.zeros((D,), tl.float32)
    for i in range(tl.cdiv(length, PAGE)):
        page = tl.load(table + b * pages + i)
        t = i * PAGE + tl.arange(0, PAGE)
        at = (page * PAGE + tl.arange(0, PAGE))[:, None] * D + d[None, :]
        inside = (t < length)[:, None]
        s = tl.sum(tl.load(cache_k + at, mask=inside, other=0.0) * query[None, :], 1)
        s = tl.where(t < length, s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 0))
        p = tl.exp(s - new)
        keep = tl.exp(top - new)
        acc = acc * keep + tl.sum(p[:, None] * tl.load(cache_v + at, mask=inside, other=0.0), 0)
        norm = norm * keep + tl.sum(p, 0)
        top = new
    tl.store(o + b * D + d, acc / norm)


torch.manual_seed(0)
D, PAGE = 32, 16
lengths = torch.tensor([37, 5, 16], dtype=torch.int32)
table = torch.tensor([[7, 2, 5], [0, -1, -1], [3, -1, -1]], dtype=torch.int32)
cache_k, cache_v = torch.empty(8, PAGE, D), torch.empty(8, PAGE, D)
q, o = torch.randn(3, D), torch.empty(3, D)
expected = []
for b, length in enumerate(lengths.tolist()):
    k, v = torch.randn(2, length, D)
    for t in range(length):
        cache_k[table[b, t // PAGE], t % PAGE] = k[t]
        cache_v[table[b, t // PAGE], t % PAGE] = v[t]
    expected.append(torch.softmax(k @ q[b], 0) @ v)
decode[(3,)](q, cache_k, cache_v, table, lengths, o, 3, D=D, PAGE=PAGE)
torch.testing.assert_close(o, torch.stack(expected), rtol=1e-4, atol=1e-5)
