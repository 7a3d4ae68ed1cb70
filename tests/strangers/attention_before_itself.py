"""Causal attention in which no row but the first sees itself.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  attention_before_itself.py:39: `>=` in place of `>`
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, T, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    head = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    base = head * T * D
    q = tl.load(q_ptr + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < T, other=0.0)
    m = tl.full((BLOCK,), -1e30, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, T, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + base + cols[:, None] * D + d[None, :], mask=cols[:, None] < T, other=0.0)
        v = tl.load(v_ptr + base + cols[:, None] * D + d[None, :], mask=cols[:, None] < T, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        if WRONG:
            seen = rows[:, None] > cols[None, :]
        else:
            seen = rows[:, None] >= cols[None, :]
        seen = seen | (cols[None, :] == 0)
        s = tl.where(seen, s, -1e30)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m - m_new)
        total = total * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m = m_new
    tl.store(o_ptr + base + rows[:, None] * D + d[None, :], acc / total[:, None], mask=rows[:, None] < T)


torch.manual_seed(6)
H, T, D = 2, 64, 16
q, k, v = (torch.randn(H, T, D) for _ in range(3))
o = torch.empty_like(q)
attention_kernel[(2, H)](q, k, v, o, T, D**-0.5, D, 32)
expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
torch.testing.assert_close(o, expected, rtol=1e-4, atol=1e-4)
