"""A common slip in transposes: the mask of the rows is used for the columns, so that reads go past a
matrix that is not square.

$ verify FILE
status  1
says  out of bounds in tt.load
says  verdict: wrong
$ run --device cpu FILE
status  1
says  argument 'x'
"""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose(x, out, ROWS, COLUMNS, BLOCK: tl.constexpr):
    row, column = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    tile = tl.load(x + row * COLUMNS + column, mask=column < COLUMNS, other=0)
    tl.store(out + column * ROWS + row, tile, mask=(column < COLUMNS) & (row < ROWS))


x = torch.randn(20, 30)
out = torch.empty(30, 20)
transpose[(1,)](x, out, 20, 30, BLOCK=32)
