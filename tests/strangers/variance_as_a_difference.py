"""Layer norms that take the variance as the mean of the squares less the square of the mean: of rows whose
numbers are nearly the same it comes out below zero where the product is fused with the difference, as in PTX,
and is zero or more where it is not, as in TTIR. The program itself compares nothing.

$ verify FILE
status  1
says  fault, nan at ptx
says  ttir leaves a number in it
says  verdict: wrong
never  no fault found
$ verify FILE clamped
status  0
says  verdict: no fault found
never  fault, nan
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def deviations(x_ptr, out_ptr, n, LEAST: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
    mean = tl.sum(x, 0) / n
    variance = tl.sum(x * x, 0) / n - mean * mean
    if LEAST is not None:
        variance = tl.maximum(variance, LEAST)
    tl.store(out_ptr + row, tl.sqrt(variance))


x = torch.full((8, 50), 1000.1) + torch.arange(8)[:, None]
out = torch.zeros(8)
deviations[(8,)](x, out, 50, LEAST=0.0 if "clamped" in sys.argv else None, BLOCK=64)
