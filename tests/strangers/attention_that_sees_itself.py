"""The same attention with the diagonal: each row has a largest score that is a number. Scores that the mask
leaves out are -inf, and exp(-inf) is 0: no check has anything to say.

    $ verify FILE
    status  0
    never  nan at
    $ run --device cpu --check nan,inf FILE
    status  0
    never  not a number
"""

import torch
import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, out, N: tl.constexpr, D: tl.constexpr):
    rows, d = tl.arange(0, N), tl.arange(0, D)
    place = rows[:, None] * D + d[None, :]
    scores = tl.dot(tl.load(q + place), tl.trans(tl.load(k + place)), input_precision="ieee")
    scores = tl.where(rows[None, :] <= rows[:, None], scores, -float("inf"))
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    total = tl.sum(weights, 1)
    tl.store(out + place, tl.dot(weights, tl.load(v + place), input_precision="ieee") / total[:, None])


torch.manual_seed(2)
q, k, v = (torch.randn(32, 32) for _ in range(3))
out = torch.empty_like(q)
attention[(1,)](q, k, v, out, N=32, D=32)
scores = (q @ k.T).masked_fill(torch.ones(32, 32).triu(1).bool(), -float("inf"))
torch.testing.assert_close(out, torch.softmax(scores, 1) @ v, atol=1e-4, rtol=1e-4)
