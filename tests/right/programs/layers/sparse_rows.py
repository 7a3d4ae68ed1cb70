"""Tempts oob, uninit: a sparse matrix in rows (CSR) times a vector; some rows are empty, one is longer
than a block."""

import torch
import triton
import triton.language as tl


@triton.jit
def spmv(values, columns, starts, x, y, B: tl.constexpr):
    row = tl.program_id(0)
    begin, end = tl.load(starts + row), tl.load(starts + row + 1)
    acc = tl.zeros((B,), tl.float32)
    at = begin
    while at < end:
        lane = at + tl.arange(0, B)
        c = tl.load(columns + lane, mask=lane < end, other=0)
        acc += tl.load(values + lane, mask=lane < end, other=0.0) * tl.load(x + c)
        at += B
    tl.store(y + row, tl.sum(acc, 0))


torch.manual_seed(0)
dense = torch.randn(12, 60) * (torch.rand(12, 60) < 0.3)
dense[2] = dense[7] = 0
dense[5] = torch.randn(60)
starts = torch.cat((torch.zeros(1), (dense != 0).sum(1).cumsum(0))).int()
columns = dense.nonzero()[:, 1].int()
x, y = torch.randn(60), torch.empty(12)
spmv[(12,)](dense[dense != 0], columns, starts, x, y, B=16)
torch.testing.assert_close(y, dense @ x, rtol=1e-5, atol=1e-5)
