"""Small kernels of the timed launches, each bound by another thing: bandwidth, gathers, atomics, transposed
tiles, special functions, integer division, chains, scans, sorts, products of other types."""

import triton
import triton.language as tl


@triton.jit
def nothing(x):
    if tl.program_id(0) < 0:
        tl.store(x, 1.0)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def copy_strided(x, out, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at * step))


@triton.jit
def gather(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + tl.load(index + at, mask=mask, other=0), mask=mask), mask=mask)


@triton.jit
def embed(table, index, out, width, BLOCK: tl.constexpr):
    row = tl.load(index + tl.program_id(0))
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(table + row * width + at, mask=at < width)
        tl.store(out + tl.program_id(0) * width + at, value, mask=at < width)


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.atomic_add(bins + tl.load(x + at, mask=mask, other=0), 1, mask=mask)


@triton.jit
def scatter_add(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.atomic_add(out + tl.load(index + at, mask=mask, other=0), tl.load(x + at, mask=mask), mask=mask)


@triton.jit
def transpose(x, out, n, m, TILE_N: tl.constexpr, TILE_M: tl.constexpr):
    rows = tl.program_id(0) * TILE_N + tl.arange(0, TILE_N)
    columns = tl.program_id(1) * TILE_M + tl.arange(0, TILE_M)
    tile = tl.load(x + rows[:, None] * m + columns[None, :])
    tl.store(out + columns[:, None] * n + rows[None, :], tl.trans(tile))


@triton.jit
def row_sum(x, out, columns, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def column_sum(x, out, rows, columns, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    at = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    total = tl.zeros([BLOCK_C], tl.float32)
    for start in range(0, rows, BLOCK_R):
        here = start + tl.arange(0, BLOCK_R)
        total += tl.sum(tl.load(x + here[:, None] * columns + at[None, :]), 0)
    tl.store(out + at, total)


@triton.jit
def argmax(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=-float("inf"))
    tl.store(out + tl.program_id(0), tl.argmax(row, 0))


@triton.jit
def cumulative(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=0.0)
    tl.store(out + tl.program_id(0) * columns + at, tl.cumsum(row, 0), mask=at < columns)


@triton.jit
def sort_rows(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def special(x, out, n, TIMES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    for _ in range(TIMES):
        value = tl.exp2(value * 0.5) - tl.log2(value * value + 1.5)
    tl.store(out + at, value, mask=at < n)


@triton.jit
def polynomial(x, out, n, TIMES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    other = value
    for _ in range(TIMES):
        value = value * other + 0.5
        other = other * value + 0.25
    tl.store(out + at, value + other, mask=at < n)


@triton.jit
def divisions(x, out, n, divisor, TIMES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    for step in range(TIMES):
        value = value // (divisor + step) + value % (divisor + 3)
    tl.store(out + at, value, mask=at < n)


@triton.jit
def doubles(x, out, n, TIMES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    for _ in range(TIMES):
        value = value * value + 0.5
    tl.store(out + at, value, mask=at < n)


@triton.jit
def chase(next_ptr, out, STEPS: tl.constexpr):
    at = tl.program_id(0) * 32 + tl.arange(0, 32)
    here = at
    for _ in range(STEPS):
        here = tl.load(next_ptr + here)
    tl.store(out + at, here)


@triton.jit
def collatz(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    steps = tl.zeros([BLOCK], tl.int32)
    while tl.max(value, 0) > 1:
        steps += (value > 1).to(tl.int32)
        value = tl.where(value > 1, tl.where(value % 2 == 0, value // 2, 3 * value + 1), value)
    tl.store(out + at, steps)


@triton.jit
def stencil(x, out, n, RADIUS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for step in tl.static_range(2 * RADIUS + 1):
        here = at + step - RADIUS
        total += tl.load(x + here, mask=(here >= 0) & (here < n), other=0.0)
    tl.store(out + at, total / (2 * RADIUS + 1), mask=at < n)


@triton.jit
def gelu_half(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n).to(tl.float32)
    inner = 0.7978845608 * (value + 0.044715 * value * value * value)
    tl.store(out + at, (value * tl.sigmoid(2 * inner)).to(tl.float16), mask=at < n)


@triton.jit
def rotate(x, cos, sin, out, heads, DIM: tl.constexpr):
    row = tl.program_id(0)
    half = tl.arange(0, DIM // 2)
    c, s = tl.load(cos + row * (DIM // 2) + half), tl.load(sin + row * (DIM // 2) + half)
    for head in range(heads):
        base = (row * heads + head) * DIM
        low, high = tl.load(x + base + half), tl.load(x + base + DIM // 2 + half)
        tl.store(out + base + half, low * c - high * s)
        tl.store(out + base + DIM // 2 + half, high * c + low * s)


@triton.jit
def product(
    a, b, out, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, STEP: tl.constexpr, SPLIT: tl.constexpr
):
    """Multiplies matrices of any type; over SPLIT parts of K, added up by atomics where there are several."""
    rows = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    columns = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    steps = tl.arange(0, STEP)
    part = K // SPLIT
    first = tl.program_id(2) * part
    a += rows[:, None] * K + first + steps[None, :]
    b += (first + steps)[:, None] * N + columns[None, :]
    total = tl.zeros([TILE_M, TILE_N], out.dtype.element_ty)
    for _ in range(0, part, STEP):
        total = tl.dot(tl.load(a), tl.load(b), total)
        a += STEP
        b += STEP * N
    where = out + rows[:, None] * N + columns[None, :]
    if SPLIT == 1:
        tl.store(where, total)
    else:
        tl.atomic_add(where, total)


@triton.jit
def dequantized_product(
    a, packed, scales, out, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, STEP: tl.constexpr
):
    """b is 4-bit numbers, two a byte along K, with a scale a column."""
    rows = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    columns = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    steps = tl.arange(0, STEP)
    total = tl.zeros([TILE_M, TILE_N], tl.float32)
    for start in range(0, K, STEP):
        left = tl.load(a + rows[:, None] * K + start + steps[None, :])
        words = tl.load(packed + ((start + steps) // 2)[:, None] * N + columns[None, :])
        right = ((words >> (steps % 2 * 4)[:, None]) & 15).to(tl.float16) - 8.0
        total = tl.dot(left, right, total)
    total *= tl.load(scales + columns)[None, :]
    tl.store(out + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def cross_entropy(logits, target, out, columns, BLOCK: tl.constexpr):
    row = logits + tl.program_id(0) * columns
    highest = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(row + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        new = tl.maximum(highest, tl.max(x, 0))
        total = total * tl.exp(highest - new) + tl.sum(tl.exp(x - new), 0)
        highest = new
    mine = tl.load(row + tl.load(target + tl.program_id(0))).to(tl.float32)
    tl.store(out + tl.program_id(0), highest + tl.log(total) - mine)
