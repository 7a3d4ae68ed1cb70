"""A transpose that stores with the number of columns of its input, where the result has as many as that has
rows. The array is long enough, so that no access is out of bounds.

    $ verify FILE
    status  1
    says  data race in tt.store at
    says  transpose_with_the_other_stride.py:23:
    says  elements were never written
    never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose(x, out, M, N, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tile = tl.load(x + rows[:, None] * N + columns[None, :], inside)
    tl.store(out + columns[None, :] * N + rows[:, None], tile, inside)


x = torch.arange(96 * 64, dtype=torch.float32).reshape(96, 64)
out = torch.empty(64, 96)
transpose[(3, 2)](x, out, 96, 64, BLOCK=32)
torch.testing.assert_close(out, x.T)
