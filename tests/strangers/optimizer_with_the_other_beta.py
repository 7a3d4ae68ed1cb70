"""A step of Adam whose second moment decays by the first beta.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  optimizer_with_the_other_beta.py:33: `beta2` in place of `beta1`
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def adam_kernel(p_ptr, g_ptr, m_ptr, v_ptr, lr, beta1, beta2, eps, c1, c2, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask)
    g = tl.load(g_ptr + offs, mask=mask)
    m = tl.load(m_ptr + offs, mask=mask)
    v = tl.load(v_ptr + offs, mask=mask)
    m = beta1 * m + (1 - beta1) * g
    if WRONG:
        v = beta1 * v + (1 - beta2) * g * g
    else:
        v = beta2 * v + (1 - beta2) * g * g
    p = p - lr * (m / c1) / (tl.sqrt(v / c2) + eps)
    tl.store(p_ptr + offs, p, mask=mask)
    tl.store(m_ptr + offs, m, mask=mask)
    tl.store(v_ptr + offs, v, mask=mask)


torch.manual_seed(10)
n = 1500
p, g, m, v = torch.randn(n), torch.randn(n), torch.randn(n), torch.rand(n)
want_m = 0.9 * m + 0.1 * g
want_v = 0.999 * v + 0.001 * g * g
want_p = p - 0.01 * (want_m / 0.271) / ((want_v / 0.003).sqrt() + 1e-8)
adam_kernel[(6,)](p, g, m, v, 0.01, 0.9, 0.999, 1e-8, 0.271, 0.003, n, BLOCK=256)
torch.testing.assert_close(m, want_m)
torch.testing.assert_close(v, want_v, rtol=1e-4, atol=1e-6)
torch.testing.assert_close(p, want_p, rtol=1e-4, atol=1e-5)
