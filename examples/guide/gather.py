"""Rows of a table by their numbers, with a declaration of what it takes (doc/guide/shapes.md)."""

import torch
import triton
import triton.language as tl
from triton_runner.testing import dims


@triton.jit
def gather_kernel(x, index, out, row, column, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    number = tl.load(index + tl.program_id(0))
    value = tl.load(x + number * row + at * column, at < columns)
    tl.store(out + tl.program_id(0) * columns + at, value, at < columns)


@dims(M=(0, 5000), N=[64, 100, 128], x="f16|f32[200, N]", index="i64[M] in 0..200 contiguous")
def gather(x, index):
    out = torch.empty(len(index), x.shape[1], dtype=x.dtype, device=x.device)
    gather_kernel[(len(index),)](x, index, out, *x.stride(), x.shape[1], BLOCK=128)
    return out


def reference(x, index):
    return x[index]
