"""Gluon layouts: the same copy under three layouts, and a transpose that converts between two of them."""

import triton
import triton_runner  # noqa: F401  importing it makes the CPU a device for @gluon.jit too
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy_layout_kernel(in_ptr, out_ptr, n, BLOCK: gl.constexpr, layout: gl.constexpr):
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    inside = offsets < n
    gl.store(out_ptr + offsets, gl.load(in_ptr + offsets, mask=inside), mask=inside)


@gluon.jit
def transpose_kernel(
    in_ptr, out_ptr, rows, cols, BLOCK: gl.constexpr, in_layout: gl.constexpr, out_layout: gl.constexpr
):
    in_rows = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(1, in_layout))
    in_cols = gl.program_id(1) * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(0, in_layout))
    inside = (in_rows[:, None] < rows) & (in_cols[None, :] < cols)
    tile = gl.load(in_ptr + in_rows[:, None] * cols + in_cols[None, :], mask=inside)
    # The store goes down the columns of the tile: neighbouring threads should hold neighbouring rows.
    tile = gl.convert_layout(tile, out_layout)
    out_rows = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(1, out_layout))
    out_cols = gl.program_id(1) * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(0, out_layout))
    inside = (out_rows[:, None] < rows) & (out_cols[None, :] < cols)
    gl.store(out_ptr + out_cols[None, :] * rows + out_rows[:, None], tile, mask=inside)


def run(device, **level):
    n, block = 5000, 1024
    x = device.normal(n)
    results = []
    for per_thread in (1, 2, 8):
        out = device.zeros(n)
        layout = gl.BlockedLayout([per_thread], [32], [4], [0])
        copy_layout_kernel[(triton.cdiv(n, block),)](
            x, out, n, BLOCK=block, layout=layout, num_warps=4, **level
        )
        results.append((f"{per_thread} a thread", out, device.host(x), 0))
    rows, cols, block = 100, 70, 32
    matrix, transposed = device.normal(rows, cols), device.zeros(cols, rows)
    transpose_kernel[(triton.cdiv(rows, block), triton.cdiv(cols, block))](
        matrix, transposed, rows, cols, BLOCK=block,
        in_layout=gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0]),
        out_layout=gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1]), num_warps=4, **level,
    )  # fmt: skip
    results.append(("transpose", transposed, device.host(matrix).T, 0))
    return results
