"""Two kernels meet in a block of torch.empty: the first writes its lower triangle, the second loads whole
rows and drops what lies above the diagonal. A thread's vector load has written bytes beside those that nobody
wrote (fla's chunk_kda).

$ verify FILE

status  0

says  warning, uninit at ttir: kernel 'lower_kernel': block: 496 of 1,024 elements were never written

never  fault

$ verify FILE one-more

status  1

says  fault, uninit at ttir

says  sum_kernel
"""

import sys

import torch
import triton
import triton.language as tl

SIZE = 32


@triton.jit
def lower_kernel(x, block, N: tl.constexpr):
    row, column = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    value = tl.load(x + row) - tl.load(x + column)
    tl.store(block + row * N + column, value, mask=row >= column)


@triton.jit
def sum_kernel(block, out, LAST: tl.constexpr, N: tl.constexpr):
    row, column = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    value = tl.load(block + row * N + column)
    value = tl.where(row + LAST >= column, value, 0.0)
    tl.store(out + tl.arange(0, N), tl.sum(value, 1))


torch.manual_seed(0)
x, block, out = torch.randn(SIZE), torch.empty(SIZE, SIZE), torch.zeros(SIZE)
lower_kernel[(1,)](x, block, N=SIZE)
sum_kernel[(1,)](block, out, LAST=len(sys.argv) - 1, N=SIZE)
if len(sys.argv) == 1:
    torch.testing.assert_close(out, (x[:, None] - x[None]).tril().sum(1))
