"""132 launches whose counters tests/gpu/counters.py compares with ncu's: each kernel on grids of its own, so
that a launch is told by its kernel and its grid.

    python tests/gpu/counters.py OUT tests/gpu/counted_launches.py --launches 200
"""

import torch
import triton
import triton.language as tl
from timed.small_kernels import add, collatz, copy_strided, histogram

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def normed(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=-float("inf"))
    row = tl.exp(row - tl.max(row, 0))
    tl.store(out + tl.program_id(0) * columns + at, row / tl.sum(row, 0), mask=at < columns)


@triton.jit
def turned(x, out, n, TILE: tl.constexpr):
    rows, columns = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.program_id(1) * TILE + tl.arange(0, TILE)
    tile = tl.load(x + rows[:, None] * n + columns[None, :])
    tl.store(out + columns[:, None] * n + rows[None, :], tl.trans(tile))


@triton.jit
def product(a, b, out, n, k, TILE: tl.constexpr, STEP: tl.constexpr):
    rows, columns = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.program_id(1) * TILE + tl.arange(0, TILE)
    steps = tl.arange(0, STEP)
    total = tl.zeros([TILE, TILE], tl.float32)
    for start in range(0, k, STEP):
        left = tl.load(a + rows[:, None] * k + start + steps[None, :])
        right = tl.load(b + (start + steps)[:, None] * n + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(out + rows[:, None] * n + columns[None, :], total)


def floats(*shape, dtype=torch.float32):
    """The same ones on both devices."""
    return torch.randn(*shape, dtype=torch.float32).to(DEVICE, dtype)


def main() -> int:
    torch.manual_seed(0)
    launches = 0
    for blocks in range(1, 25):
        n = blocks * 1024 - 5 * (blocks % 3)
        x, y, out = floats(n), floats(n), floats(n)
        add[(blocks,)](x, y, out, n, BLOCK=1024, num_warps=1 << blocks % 4)
        copy_strided[(blocks,)](floats(n * 9), out, 1 + blocks % 9, BLOCK=256)
        normed[(blocks,)](
            floats(blocks, 100 * blocks), floats(blocks, 100 * blocks), 100 * blocks, BLOCK=4096
        )
        bins = torch.zeros(64, dtype=torch.int32, device=DEVICE)
        numbers = torch.randint(0, 64, (n,), dtype=torch.int32).to(DEVICE)
        histogram[(blocks,)](numbers, bins, n, BLOCK=1024)
        assert int(bins.sum()) == n
        values = torch.arange(1, blocks * 128 + 1, dtype=torch.int32, device=DEVICE)
        collatz[(blocks,)](values, torch.empty_like(values), BLOCK=128)
        launches += 5
    for tiles in range(1, 7):
        n = 64 * tiles
        turned[(tiles, tiles)](floats(n, n), floats(n, n), n, TILE=64)
        a, b = floats(n, 32 * tiles, dtype=torch.float16), floats(32 * tiles, n, dtype=torch.float16)
        product[(tiles, tiles)](a, b, floats(n, n), n, 32 * tiles, TILE=64, STEP=32)
        launches += 2
    return launches


if __name__ == "__main__":
    print(main(), "launches")
