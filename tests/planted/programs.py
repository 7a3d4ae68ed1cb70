"""The kernels that faults are planted in, and programs that judge them exactly."""

import numpy as np
import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask, other=0.0) + 2.0 * tl.load(y + offsets, mask, other=0.0)
    tl.store(out + offsets, value - 1.0, mask)


@triton_runner.jit
def row_sum(x, out, columns, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x + tl.program_id(0) * columns + offsets, offsets < columns, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(total))


@triton_runner.jit
def matmul(a, b, c, size, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, size, BLOCK):
        inner = k + tl.arange(0, BLOCK)
        left = tl.load(a + rows[:, None] * size + inner[None, :])
        total += tl.dot(left, tl.load(b + inner[:, None] * size + columns[None, :]))
    tl.store(c + rows[:, None] * size + columns[None, :], total)


@triton_runner.jit
def scan(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets, offsets < n, other=0.0)
    tl.store(out + offsets, tl.cumsum(value, 0) * 2.0, offsets < n)


@triton_runner.jit
def shifted(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) * 2.0)


def check(name):
    """Runs a kernel on small integers, whose results are exact; raises AssertionError where it is wrong."""
    random = np.random.default_rng(5)
    whole = lambda *shape: random.integers(1, 5, shape).astype(np.float32)  # noqa: E731
    if name == "add":
        x, y, out = whole(300), whole(300), np.full(300, -7, np.float32)
        add[(triton.cdiv(299, 128),)](x, y, out, 299, BLOCK=128)
        assert np.array_equal(out, np.append((x + 2 * y - 1)[:299], -7))
    elif name == "row_sum":
        x, out = whole(8, 300), np.zeros(8, np.float32)
        row_sum[(8,)](x, out, 300, BLOCK=128)
        assert np.array_equal(out, x.sum(1))
    elif name == "matmul":
        a, b, c = (
            whole(64, 64).astype(np.float16),
            whole(64, 64).astype(np.float16),
            np.zeros((64, 64), np.float32),
        )
        matmul[(2, 2)](a, b, c, 64, BLOCK=32)
        assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    elif name == "shifted":
        x, out = whole(129), np.zeros(128, np.float32)
        shifted[(1,)](x[1:], out, BLOCK=128, num_warps=1)
        assert np.array_equal(out, 2 * x[1:])
    else:
        x, out = whole(128), np.full(128, -7, np.float32)
        scan[(1,)](x, out, 100, BLOCK=128)
        assert np.array_equal(out[:100], 2 * np.cumsum(x[:100])) and (out[100:] == -7).all()
