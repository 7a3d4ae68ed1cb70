"""Causal attention that leaves the diagonal out: the first row sees no key, its largest score is -inf, and
-inf - -inf is not a number. That row of the result is NaN, and nothing in the program compares the result.

    $ verify FILE
    status  1
    says  nan at ttir
    says  verdict: wrong
    $ verify --strict FILE
    status  1
    says  verdict: wrong
    $ run --device cpu --check nan,inf FILE
    status  1
    says  not a number in arith.subf
"""

import torch
import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, out, N: tl.constexpr, D: tl.constexpr):
    rows, d = tl.arange(0, N), tl.arange(0, D)
    place = rows[:, None] * D + d[None, :]
    scores = tl.dot(tl.load(q + place), tl.trans(tl.load(k + place)), input_precision="ieee")
    scores = tl.where(rows[None, :] < rows[:, None], scores, -float("inf"))
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    total = tl.sum(weights, 1)
    tl.store(out + place, tl.dot(weights, tl.load(v + place), input_precision="ieee") / total[:, None])


torch.manual_seed(2)
q, k, v = (torch.randn(32, 32) for _ in range(3))
attention[(1,)](q, k, v, torch.empty_like(q), N=32, D=32)
