"""Tempts oob, hints: offsets are computed in 64 bits, with a row number that is cast before it is
multiplied."""

import torch
import triton
import triton.language as tl


@triton.jit
def gather_rows(x, rows, out, stride, N: tl.constexpr):
    p = tl.program_id(0).to(tl.int64)
    row = tl.load(rows + p)
    at = tl.arange(0, N).to(tl.int64)
    tl.store(out + p * N + at, tl.load(x + row * stride + at))


torch.manual_seed(0)
x = torch.randn(64, 40)
rows = torch.randint(0, 64, (30,))
out = torch.empty(30, 32)
gather_rows[(30,)](x, rows, out, x.stride(0), N=32)
assert torch.equal(out, x[rows, :32])
