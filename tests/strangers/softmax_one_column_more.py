"""A softmax whose mask is one column too wide. Each row takes the first score of the next one into its sum,
and the last row reads past the end of the array.

    $ verify FILE
    status  1
    says  out of bounds in tt.load at
    says  softmax_one_column_more.py:22:
    says  fault: oob in softmax
    never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at <= columns
    score = tl.load(x + row * columns + at, inside, other=-float("inf"))
    weight = tl.exp(score - tl.max(score, 0))
    tl.store(out + row * columns + at, weight / tl.sum(weight, 0), at < columns)


torch.manual_seed(0)
x = torch.randn(6, 100)
out = torch.empty_like(x)
softmax[(6,)](x, out, 100, BLOCK=128)
print("max difference", (out - torch.softmax(x, 1)).abs().max().item())
