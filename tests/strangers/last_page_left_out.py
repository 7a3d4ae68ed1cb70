"""Attention over pages of a cache, whose loop counts the full pages only. The program compares slice by
slice.

    $ verify FILE right
    status  0
    says  verdict: right
    $ verify FILE wrong
    status  1
    says  out_ptr[0, 0, 0] is -0.508625, and is compared with -0.478127; 64 of 64 elements differ
    says  k_cache[0 and 5 and 8, 0:16, 0, 0:32]: tt.load at
    says  last_page_left_out.py:57
    says  in 3 turns of the loop at
    says  last_page_left_out.py:52
    never  verdict: right
"""

import math
import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def paged_decode(
    q_ptr,
    k_cache,
    v_cache,
    table,
    lens,
    out_ptr,
    scale,
    max_pages,
    HEADS: tl.constexpr,
    PAGE: tl.constexpr,
    D: tl.constexpr,
):
    seq, head = tl.program_id(0), tl.program_id(1)
    length = tl.load(lens + seq)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + (seq * HEADS + head) * D + d) * scale
    m = -float("inf")
    total = 0.0
    acc = tl.zeros((D,), dtype=tl.float32)
    if WRONG:
        pages = length // PAGE
    else:
        pages = tl.cdiv(length, PAGE)
    for i in range(0, pages):
        page = tl.load(table + seq * max_pages + i)
        t = tl.arange(0, PAGE)
        inside = i * PAGE + t < length
        at = ((page * PAGE + t[:, None]) * HEADS + head) * D + d[None, :]
        k = tl.load(k_cache + at, mask=inside[:, None], other=0.0)
        s = tl.where(inside, tl.sum(q[None, :] * k, axis=1), -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=0))
        p = tl.exp(s - m_new)
        alpha = tl.exp(m - m_new)
        v = tl.load(v_cache + at, mask=inside[:, None], other=0.0)
        acc = acc * alpha + tl.sum(p[:, None] * v, axis=0)
        total = total * alpha + tl.sum(p, axis=0)
        m = m_new
    tl.store(out_ptr + (seq * HEADS + head) * D + d, acc / total)


torch.manual_seed(0)
SEQS, HEADS, D, PAGE, MAX_PAGES = 3, 2, 32, 16, 4
lens = torch.tensor([50, 32, 19], dtype=torch.int32)
table = torch.randperm(SEQS * MAX_PAGES).reshape(SEQS, MAX_PAGES).to(torch.int32)
k_cache = torch.randn(SEQS * MAX_PAGES, PAGE, HEADS, D)
v_cache = torch.randn(SEQS * MAX_PAGES, PAGE, HEADS, D)
q = torch.randn(SEQS, HEADS, D)
out = torch.empty_like(q)
scale = 1 / math.sqrt(D)
paged_decode[(SEQS, HEADS)](
    q, k_cache, v_cache, table, lens, out, scale, MAX_PAGES, HEADS=HEADS, PAGE=PAGE, D=D
)
for s in range(SEQS):
    n = lens[s].item()
    k = k_cache[table[s].long()].reshape(-1, HEADS, D)[:n]
    v = v_cache[table[s].long()].reshape(-1, HEADS, D)[:n]
    p = torch.softmax(torch.einsum("hd,thd->ht", q[s], k) * scale, dim=-1)
    ref = torch.einsum("ht,thd->hd", p, v)
    torch.testing.assert_close(out[s], ref, atol=1e-5, rtol=1e-5)
