"""Tempts oob, nan: only blocks that a table names are multiplied; rows of blocks without any stay 0."""

import torch
import triton
import triton.language as tl


@triton.jit
def product(blocks, columns, starts, x, y, N: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    i, j, n = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :], tl.arange(0, N)[None, :]
    acc = tl.zeros((B, N), tl.float32)
    for b in range(tl.load(starts + row), tl.load(starts + row + 1)):
        column = tl.load(columns + b)
        acc = tl.dot(tl.load(blocks + b * B * B + i * B + j), tl.load(x + (column * B + i) * N + n), acc)
    tl.store(y + (row * B + i) * N + n, acc)


torch.manual_seed(0)
layout = torch.tensor([[1, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 1]])
where = layout.nonzero()
blocks = torch.randn(len(where), 16, 16).half()
starts = torch.cat((torch.zeros(1), layout.sum(1).cumsum(0))).int()
x, y = torch.randn(48, 32).half(), torch.empty(64, 32)
product[(4,)](blocks, where[:, 1].int(), starts, x, y, N=32, B=16)
dense = torch.zeros(64, 48)
for (r, c), block in zip(where.tolist(), blocks, strict=True):
    dense[r * 16 : r * 16 + 16, c * 16 : c * 16 + 16] = block.float()
torch.testing.assert_close(y, dense @ x.float(), rtol=1e-3, atol=2e-3)
