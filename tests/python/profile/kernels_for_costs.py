"""Has a tile of f32 that all programs turn in shared memory, and a row that all programs norm: by a few
warps, or by one, whose registers do not hold it."""

import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def turned(x, out, TIMES: gl.constexpr, WIDTH: gl.constexpr):
    held: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    memory: gl.constexpr = gl.SwizzledSharedLayout(1, 1, WIDTH, order=[1, 0])
    rows = gl.arange(0, 64, gl.SliceLayout(1, held))[:, None]
    at = rows * 64 + gl.arange(0, 64, gl.SliceLayout(0, held))[None, :]
    buffer = gl.allocate_shared_memory(gl.float32, [64, 64], memory, gl.load(x + at))
    values = buffer.permute((1, 0)).load(held)
    for _ in range(TIMES):
        buffer.store(values)
        values += buffer.permute((1, 0)).load(held)
    gl.store(out + at, values)


@triton.jit
def normed(x, out, COLUMNS: tl.constexpr):
    at = tl.arange(0, COLUMNS)
    row = tl.load(x + at)
    row -= tl.sum(row) / COLUMNS
    row *= tl.rsqrt(tl.sum(row * row) / COLUMNS + 1e-5)
    row = tl.exp(row)
    tl.store(out + at, row / tl.sum(row))
