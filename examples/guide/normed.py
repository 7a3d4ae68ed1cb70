"""Rows of 8,192 f32, normed: by a warp each, or by as many as the command line says.

Usage:
    triton-runner run examples/guide/normed.py [WARPS]
"""

import sys

import torch
import triton
import triton.language as tl

ROWS, COLUMNS = 8, 8192


@triton.jit
def normed(x, out, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.load(x + at)
    row -= tl.sum(row) / COLUMNS
    variance = tl.sum(row * row) / COLUMNS
    row = tl.exp(row * tl.rsqrt(variance + 1e-5))
    tl.store(out + at, row / tl.sum(row))


if __name__ == "__main__":
    torch.manual_seed(0)
    x, out = torch.randn(ROWS, COLUMNS), torch.empty(ROWS, COLUMNS)
    normed[(ROWS,)](x, out, COLUMNS, num_warps=int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    assert abs(float(out.sum()) - ROWS) < 1e-3
