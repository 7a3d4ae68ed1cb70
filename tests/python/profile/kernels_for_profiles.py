"""Has kernels and a program whose launches are profiled."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def loop(x, out, BLOCK: tl.constexpr):
    """Program p adds p + 1 blocks."""
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(tl.program_id(0) + 1):
        total += tl.load(x + i * BLOCK + at)
    tl.store(out + tl.program_id(0) * BLOCK + at, total)


@triton.jit
def total(x, out, BLOCK: tl.constexpr):
    tl.store(out + tl.program_id(0), tl.sum(tl.load(x + tl.arange(0, BLOCK))))


@triton.jit
def squares(a, b, out):
    rows, columns, steps = tl.arange(0, 128)[:, None], tl.arange(0, 128)[None, :], tl.arange(0, 64)
    product = tl.dot(tl.load(a + rows * 64 + steps[None, :]), tl.load(b + steps[:, None] * 128 + columns))
    tl.store(out + rows * 128 + columns, product)


if __name__ == "__main__":
    n = 1 << 14
    x, y, out = torch.ones(n), torch.ones(n), torch.empty(n)
    for _ in range(2):
        add[(n // 1024,)](x, y, out, n, BLOCK=1024)
    assert (out == 2).all()
    print("done")
