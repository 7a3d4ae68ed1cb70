"""Rows of matrices that descriptors gather, scatter and add to, each with one fault.

$ verify FILE right
status  0
$ verify FILE gather
status  1
says  out[0, 0] is -0.218834
says  x[3, 16]: tt.descriptor_gather at
says  512 of 640 elements of x are read by no program
says  `0` in place of `16`
$ verify FILE scatter
status  1
says  tt.descriptor_scatter at
says  x[3, 0]: tt.load at
says  without `* 2`
$ verify FILE reduce
status  1
says  tt.descriptor_reduce at
says  3 programs add to it
says  x[0, 0]: tt.load at
"""

import sys

import torch
import triton
import triton.language as tl

HOW = tl.constexpr(sys.argv[1])


@triton.jit
def gather_kernel(x, rows, out, M, N, R: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.load(rows + tl.arange(0, R))
    described = tl.make_tensor_descriptor(x, [M, N], [N, 1], [1, BLOCK])
    if HOW == "gather":
        values = described.gather(at, 16)
    else:
        values = described.gather(at, 0)
    tl.store(out + tl.arange(0, R)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :], values)


@triton.jit
def scatter_kernel(x, rows, out, M, N, R: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.load(rows + tl.arange(0, R))
    values = tl.load(x + tl.arange(0, R)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :])
    described = tl.make_tensor_descriptor(out, [M, N], [N, 1], [1, BLOCK])
    if HOW == "scatter":
        described.scatter(values * 2, at, 0)
    else:
        described.scatter(values, at, 0)


@triton.jit
def reduce_kernel(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    values = tl.load(x + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :])
    described = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    if HOW == "reduce":
        described.atomic_add([0, 0], values + tl.program_id(0))
    else:
        described.atomic_add([0, 0], values)


torch.manual_seed(0)
x = torch.randn(20, 32)
rows = torch.tensor([3, 1, 7, 0, 12, 19, 4, 2], dtype=torch.int32)
out = torch.empty(8, 16)
gather_kernel[(1,)](x, rows, out, 20, 32, 8, 16)
torch.testing.assert_close(out, x[rows.long(), :16])

y = torch.randn(8, 16)
spread = torch.zeros(20, 16)
scatter_kernel[(1,)](y, rows, spread, 20, 16, 8, 16)
wanted = torch.zeros(20, 16)
wanted[rows.long()] = y
torch.testing.assert_close(spread, wanted)

total = torch.zeros(8, 16)
reduce_kernel[(3,)](y, total, 8, 16, 8, 16)
torch.testing.assert_close(total, 3 * y)
