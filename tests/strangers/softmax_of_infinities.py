"""A softmax whose third row is -inf everywhere: -inf - -inf is not a number, and the whole row of the
result is NaN. Nothing in the program compares the result.

$ verify FILE
status  1
says  nan at ttir
says  verdict: wrong
$ verify --strict FILE
status  1
$ run --device cpu --check nan,inf FILE
status  1
says  not a number in arith.subf
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(scores, result, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < columns
    row = tl.load(scores + tl.program_id(0) * columns + at, inside, other=-float("inf"))
    weights = tl.exp(row - tl.max(row, 0))
    tl.store(result + tl.program_id(0) * columns + at, weights / tl.sum(weights, 0), inside)


torch.manual_seed(1)
scores = torch.randn(5, 60)
scores[2] = -float("inf")
softmax[(5,)](scores, torch.empty_like(scores), 60, BLOCK=64)
