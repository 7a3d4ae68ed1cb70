"""Values of TTGIR from the registers of this release's PTX: the same arrays as at TTGIR."""

import re

import numpy as np
import pytest
import triton.language as tl
import triton_runner


@triton_runner.jit
def rows_kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < n
    value = tl.load(x + row * n + offsets, mask=inside, other=0.0)
    largest = tl.max(value, 0)
    half = (value - largest).to(tl.float16)
    tl.store(y + row * n + offsets, half, mask=inside)


@triton_runner.jit
def matmul_kernel(a, b, c, K, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        left = tl.load(a + i[:, None] * K + (k + i)[None, :])
        right = tl.load(b + (k + i)[:, None] * BLOCK + i[None, :])
        acc = tl.dot(left, right, acc)
    scaled = acc * 2.0
    tl.store(c + i[:, None] * BLOCK + i[None, :], scaled)


def ttgir_of(kernel):
    return kernel.asm["ttgir"]


def rows(level, *names):
    x = np.random.default_rng(1).standard_normal((3, 200)).astype(np.float32)
    y = np.zeros((3, 200), np.float16)
    with triton_runner.dumping(rows_kernel, *names, level=level) as dump:
        kernel = rows_kernel[(3,)](x, y, 200, BLOCK=256, device="cpu", target="cuda:80")
    return dump.last, kernel


def test_rows():
    names = re.findall(
        r"^ +(%\w+) = (?:tt\.load|arith\.cmpi|arith\.subf|arith\.truncf)",
        ttgir_of(rows("ttgir", "*")[1]),
        re.M,
    )
    assert len(names) >= 4
    above, below = rows("ttgir", *names)[0], rows("ptx", *names)[0]
    for name in names:
        assert below[name].site.type == above[name].site.type
        np.testing.assert_array_equal(below[name].to_numpy(), above[name].to_numpy())


@pytest.mark.parametrize("op", ["tt.dot", "arith.mulf"])
def test_matmul(op):
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((32, 96), (96, 32)))
    dumps = []
    for level in ("ttgir", "ptx"):
        c = np.zeros((32, 32), np.float32)
        with triton_runner.dumping(matmul_kernel, op, level=level, every_iteration=True) as dump:
            matmul_kernel[(1,)](a, b, c, 96, BLOCK=32, device="cpu", target="cuda:80")
        dumps.append(dump.last)
    above, below = dumps
    values = [value for value in below if value.site.type == "f32"]
    assert values
    for value in values:
        other = above[value.site.value]
        np.testing.assert_array_equal(value.iterations, other.iterations)
        np.testing.assert_allclose(value.to_numpy(), other.to_numpy(), rtol=1e-4, atol=1e-4)
    if op == "arith.mulf":
        np.testing.assert_array_equal(values[-1].to_numpy()[-1], c)


def test_tiles_larger_than_the_tensor():
    """A column has a register for each of the tile's columns before 3.9, all with the same elements."""
    dumps = []
    for level in ("ttgir", "ptx"):
        a, b, c = (
            np.zeros((32, 96), np.float16),
            np.zeros((96, 32), np.float16),
            np.zeros((32, 32), np.float32),
        )
        with triton_runner.dumping(matmul_kernel, "tt.expand_dims", level=level) as dump:
            matmul_kernel[(1,)](a, b, c, 96, BLOCK=32, num_warps=1, device="cpu", target="cuda:80")
        dumps.append(dump.last)
    above, below = dumps
    columns = [value for value in below if value.shape == (32, 1)]
    assert columns
    for value in columns:
        np.testing.assert_array_equal(value.to_numpy(), above[value.name].to_numpy())


def test_registers_that_are_copies():
    """Two elements of a column are four registers of a thread. Before 3.9 each copy is a load of its own."""
    gluon = pytest.importorskip("triton.experimental.gluon", reason="Gluon came with Triton 3.4")
    gl = gluon.language

    @triton_runner.gluon.jit
    def columns(x, y, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
        layout: gl.constexpr = gl.BlockedLayout([4, 2], [1, 32], [1, 1], [0, 1])
        i = gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
        j = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, layout))
        at = i[:, None] * COLUMNS + j[None, :]
        value = gl.load(x + at)
        gl.store(y + at, value * 3)

    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    with triton_runner.dumping(columns, "value", level="ptx") as dump:
        columns[(1,)](x, y, 2, 32, num_warps=1, device="cpu", target="cuda:90")
    np.testing.assert_array_equal(dump.last["value"].to_numpy()[0], x.reshape(2, 32))
