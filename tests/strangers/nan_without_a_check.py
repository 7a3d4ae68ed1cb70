"""An all-masked row of attention weights is NaN, and the program ends with status 0: without a check of the
result nothing says that the NaN is meant. With one that expects it, it is.

    $ verify FILE
    status  1
    says  fault, nan at
    says  verdict: wrong
    $ verify FILE before
    status  1
    $ verify FILE after
    status  0
    says  the program's own check passes (assert_close at
    says  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def weights(scores, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    row = tl.load(scores + at)
    power = tl.exp(row - tl.max(row, 0))
    tl.store(out + at, power / tl.sum(power, 0))


scores = torch.ones(3, 32)
scores[1] = -float("inf")
expected = torch.softmax(scores, 1)
if "before" in sys.argv:
    torch.testing.assert_close(scores, scores.clone())
out = torch.zeros_like(scores)
weights[(3,)](scores, out, N=32)
if "after" in sys.argv:
    torch.testing.assert_close(out, expected, equal_nan=True)
