"""A matrix of f32, transposed tile by tile through shared memory: in the order of its rows, or swizzled.

Usage:
    triton-runner run --pretend-cuda examples/guide/turned.py [rows | swizzled]
"""

import sys

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

SIZE, TILE = 256, 64


@gluon.jit
def turned(x, out, n, tile: gl.constexpr, held: gl.constexpr, memory: gl.constexpr):
    rows = gl.arange(0, tile, gl.SliceLayout(1, held))[:, None]
    columns = gl.arange(0, tile, gl.SliceLayout(0, held))[None, :]
    down, across = gl.program_id(0) * tile, gl.program_id(1) * tile
    values = gl.load(x + (down + rows) * n + across + columns)
    buffer = gl.allocate_shared_memory(gl.float32, [tile, tile], memory, values)
    other = buffer.permute((1, 0)).load(held)
    gl.store(out + (across + rows) * n + down + columns, other)


MEMORY = {
    "rows": gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[1, 0]),
    "swizzled": gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=32, order=[1, 0]),
}

if __name__ == "__main__":
    held = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    memory = MEMORY[sys.argv[1] if len(sys.argv) > 1 else "rows"]
    x = torch.arange(SIZE * SIZE, dtype=torch.float32, device="cuda").reshape(SIZE, SIZE)
    out = torch.empty_like(x)
    turned[(SIZE // TILE, SIZE // TILE)](x, out, SIZE, TILE, held, memory, num_warps=4)
    assert torch.equal(out, x.T)
