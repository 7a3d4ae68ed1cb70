"""Asynchronous copies (cp.async, sm_80 and later): a sum of two matrices whose tiles are fetched a few steps
ahead into a ring of buffers."""

import torch
from shared import main
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton_runner import gluon


@gluon.jit
def fetch(buffers, step, x_ptr, rows, columns, height, width, STEP: gl.constexpr, DEPTH: gl.constexpr):
    at = step * STEP + columns
    inside = (rows < height)[:, None] & (at < width)[None, :]
    pointers = x_ptr + rows[:, None] * width + at[None, :]
    async_copy.async_load(buffers.index(step % DEPTH), pointers, mask=inside)


@gluon.jit
def add(x_ptr, y_ptr, out_ptr, height, width, DEPTH: gl.constexpr):
    ROWS: gl.constexpr = 16
    STEP: gl.constexpr = 64
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [2, 2], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    rows = gl.program_id(0) * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, layout))
    columns = gl.arange(0, STEP, gl.SliceLayout(0, layout))
    x = gl.allocate_shared_memory(x_ptr.dtype.element_ty, [DEPTH, ROWS, STEP], shared)
    y = gl.allocate_shared_memory(y_ptr.dtype.element_ty, [DEPTH, ROWS, STEP], shared)
    for ahead in gl.static_range(DEPTH - 1):
        fetch(x, ahead, x_ptr, rows, columns, height, width, STEP, DEPTH)
        fetch(y, ahead, y_ptr, rows, columns, height, width, STEP, DEPTH)
        async_copy.commit_group()
    for step in range(gl.cdiv(width, STEP)):
        fetch(x, step + DEPTH - 1, x_ptr, rows, columns, height, width, STEP, DEPTH)
        fetch(y, step + DEPTH - 1, y_ptr, rows, columns, height, width, STEP, DEPTH)
        async_copy.commit_group()
        async_copy.wait_group(DEPTH - 1)  # the oldest step has landed
        total = x.index(step % DEPTH).load(layout) + y.index(step % DEPTH).load(layout)
        at = step * STEP + columns
        inside = (rows < height)[:, None] & (at < width)[None, :]
        gl.store(out_ptr + rows[:, None] * width + at[None, :], total, mask=inside)
    async_copy.wait_group(0)


def run(**level):
    from shared import whole

    x, y = whole(37, 150, dtype=torch.float32), whole(37, 150, dtype=torch.float32)
    out = torch.zeros_like(x)
    add[(3,)](x, y, out, 37, 150, DEPTH=3, num_warps=4, **level)
    return out, x + y


if __name__ == "__main__":
    main(run, "cuda:80")
