"""Has kernels that are right where W is 0; another W plants a fault."""

import triton
import triton.language as tl


@triton.jit
def clamped(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n + W)
    tl.store(out + at, tl.minimum(tl.maximum(values, 0.0), 6.0), mask=at < n)


@triton.jit
def biased(x, bias, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    on = (m < M) & (n < N)
    if W == 1:
        more = tl.load(bias + m, mask=m < M)
    else:
        more = tl.load(bias + n, mask=n < N)
    if W == 2:
        on = (m <= M) & (n < N)
    tl.store(out + m * N + n, tl.load(x + m * N + n, mask=(m < M) & (n < N)) + more, mask=on)


@triton.jit
def interleaved(x, y, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + 2 * at, tl.load(x + at, mask=at < n), mask=at < n)
    if W != 2:
        tl.store(out + 2 * at + 1 + W, tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def diagonal(x, out, N, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at * N + at + W, mask=at < N), mask=at < N)


@triton.jit
def triangle(x, out, N, BLOCK: tl.constexpr, W: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    kept = tl.load(x + row * N + at, mask=(at < N) & (at >= row), other=0.0)
    on = at < N
    if W == 1:
        on = (at < N) & (at >= row)
    tl.store(out + row * N + at, kept, mask=on)


@triton.jit
def pooled(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + 2 * at, mask=at < n), tl.load(x + 2 * at + 1 + W, mask=at < n)
    tl.store(out + at, tl.maximum(a, b), mask=at < n)


@triton.jit
def convolved(x, weight, out, n, K, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, K + W):
        total += tl.load(x + at + k, mask=at < n) * tl.load(weight + k)
    tl.store(out + at, total, mask=at < n)


@triton.jit
def flipped(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out + row * N + at, tl.load(x + row * N + N - 1 + W - at, mask=at < N), mask=at < N)


@triton.jit
def joined(x, y, out, n, m, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.load(x + at, mask=at < n, other=0.0)
    if W == 1:
        second = tl.load(y + at - n, mask=at < n + m, other=0.0)
    elif W == 2:
        second = tl.load(y + at, mask=(at >= n) & (at < n + m), other=0.0)
    else:
        second = tl.load(y + at - n, mask=(at >= n) & (at < n + m), other=0.0)
    tl.store(out + at, first + second, mask=at < n + m)


@triton.jit
def repeated(x, out, M, N, R, BLOCK: tl.constexpr, W: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    source = row % R if W == 1 else row // R
    tl.store(out + row * N + at, tl.load(x + source * N + at, mask=at < N), mask=at < N)


@triton.jit
def partial_sums(x, out, n, B, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    if W == 1:
        tl.store(out + tl.program_id(0) % B, total)
    else:
        tl.atomic_add(out + tl.program_id(0) % B, total)


@triton.jit
def running(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * N + at, mask=at < N, other=0.0)
    tl.store(out + (row + W) * N + at, tl.cumsum(values, axis=0), mask=at < N)


@triton.jit
def scattered(x, index, out, n, V, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    to = tl.load(index + at, mask=at < n, other=0)
    if W == 1:
        tl.store(out + to, tl.load(x + at, mask=at < n), mask=at < n)
    else:
        tl.atomic_add(out + to + W // 2, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def looked_up(x, rows, columns, out, n, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = tl.load(rows + at, mask=at < n, other=0), tl.load(columns + at, mask=at < n, other=0)
    stride = M if W == 1 else N
    tl.store(out + at, tl.load(x + row * stride + column, mask=at < n), mask=at < n)


@triton.jit
def blocks_and_tail(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    whole = n // BLOCK
    for block in range(tl.program_id(0), whole, tl.num_programs(0)):
        at = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at))
    if W == 0:
        at = whole * BLOCK + tl.arange(0, BLOCK)
        if tl.program_id(0) == 0:
            tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def outer(x, y, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    product = tl.load(x + m, mask=m < M)[:, None] * tl.load(y + n, mask=n < N)[None, :]
    stride = M if W == 1 else N
    on = (m[:, None] < M) & (n[None, :] < N)
    tl.store(out + m[:, None] * stride + n[None, :], product, mask=on)


@triton.jit
def shifted_right(x, out, n, p, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    on = at < n + p if W == 1 else (at >= p) & (at < n + p)
    tl.store(out + at, tl.load(x + at - p, mask=on, other=0.0), mask=at < n + p)


@triton.jit
def every_kth(x, out, n, k, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + (at + W) * k, mask=at < n), mask=at < n)


@triton.jit
def channels_last(x, out, C, H, BLOCK: tl.constexpr, W: tl.constexpr):
    image, h, c = tl.program_id(0), tl.program_id(1), tl.arange(0, BLOCK)
    values = tl.load(x + (image * C + c) * H + h, mask=c < C)
    step = H if W == 1 else C
    tl.store(out + (image * H + h) * step + c, values, mask=c < C)


@triton.jit
def two_in_one(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * 2 * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)
    at += BLOCK - W
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def maxima(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    row = tl.program_id(0)
    best = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        best = tl.maximum(best, tl.load(x + row * N + at, mask=at < N + W, other=-float("inf")))
    tl.store(out + row, tl.max(best, axis=0))


@triton.jit
def per_group(x, scale, out, n, G: tl.constexpr, BLOCK: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    factor = tl.load(scale + at // G + W, mask=at < n)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)
