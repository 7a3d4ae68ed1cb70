"""Has kernels of which one takes the wrong half for right, or the right one for wrong, who leaves something
out. W = 0: right; W = 1: wrong somewhere."""

import triton
import triton.language as tl


@triton.jit
def in_place(x, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i + W, i + W < n), i < n)


@triton.jit
def mirrored(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + n - 1 + W - i, tl.load(x + i, i < n), i < n)


@triton.jit
def widened(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    at = (row * N).to(tl.int64) if W else row.to(tl.int64) * N
    tl.store(out + at + i, tl.load(x + at + i, i < N), i < N)


@triton.jit
def axes(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    row, first = tl.program_id(1 - W), tl.program_id(W) * BLOCK
    i = first + tl.arange(0, BLOCK)
    tl.store(out + row * N + i, tl.load(x + row * N + i, i < N), i < N)


@triton.jit
def other_extent(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    last = M if W else N
    at, mask = m[:, None] * N + n[None, :], (m[:, None] < M) & (n[None, :] < last)
    tl.store(out + at, tl.load(x + at, mask), mask)


@triton.jit
def assumed_there(x, out, n, k, W: tl.constexpr):
    value = 0.0
    if k > 3:
        tl.assume(n >= 128)
        if not W:
            value = tl.load(x + 100)
    if W:
        value = tl.load(x + 100)
    tl.store(out, value)


@triton.jit
def taken_in_turns(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0) - W):
        i = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n) + tl.program_id(0), i < n)


@triton.jit
def whole_tiles(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at, mask = m[:, None] * N + n[None, :], (m < M)[:, None]
    tl.store(out + at, tl.load(x + at, mask), mask)


@triton.jit
def wide_box(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    left = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BLOCK, BLOCK])
    to = tl.make_tensor_descriptor(out, shape=[M, N + W], strides=[N, 1], block_shape=[BLOCK, BLOCK])
    m, n = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    to.store([m, n], left.load([m, n]))


@triton.jit
def cleared_first(x, out, n, V, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if tl.program_id(0) < W:
        tl.store(out, 0.0)
    tl.atomic_add(out + i % V, tl.load(x + i, i < n), i < n)


@triton.jit
def leaves_late(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    if first >= n + W:
        return
    i = first + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


@triton.jit
def otherwise(x, index, out, n, V, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index + i, i < n, other=(V if W else 0))
    tl.store(out + i, tl.load(x + at), i < n)


@triton.jit
def fixed_rows(x, out, M, N: tl.constexpr, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at, mask = tl.program_id(0) * N + i, i < N + W
    tl.store(out + at, tl.load(x + at, mask), mask)


@triton.jit
def long_places(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    block = tl.program_id(0)
    first = (block * BLOCK).to(tl.int64) if W else block.to(tl.int64) * BLOCK
    i = first + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton.jit
def one_before(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = (i - 1) % n if W else (i + n - 1) % n
    tl.store(out + i, tl.load(x + at, i < n), i < n)


@triton.jit
def chosen_place(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + tl.where(i < n + W, i, 0))
    tl.store(out + i, value, i < n)


@triton.jit
def by_fractions(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i.to(tl.float32) < n.to(tl.float32) if W else i < n
    tl.store(out + i, tl.load(x + i, mask), mask)


@triton.jit
def goes_on_first(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = x + i
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, n, BLOCK):
        if W:
            at += BLOCK
        total += tl.load(at, first + i < n)
        if not W:
            at += BLOCK
    tl.store(out, tl.sum(total))


@triton.jit
def rounded_up(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + row * N + i, i < N, 0.0))
    last = tl.cdiv(N, 4) * 4 if W else N
    tl.store(out + row * N + i, i.to(tl.float32) * total, i < last)


@triton.jit
def by_halves(x, out, n, W: tl.constexpr):
    i = tl.program_id(0)
    value = tl.load(x + i)
    if W:
        tl.store(out + i // 2, value)
    else:
        tl.atomic_add(out + i // 2, value)


@triton.jit
def numbered(x, out, A, B, W: tl.constexpr):
    i = tl.program_id(0) * tl.num_programs(1 - W) + tl.program_id(1)
    tl.store(out + i, tl.load(x + i))


@triton.jit
def old_mask(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK * 4 + tl.arange(0, BLOCK)
    mask = i < n
    for _ in range(4):
        tl.store(out + i, tl.load(x + i, mask), mask)
        i += BLOCK
        if not W:
            mask = i < n


@triton.jit
def either_mask(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < n) | (i == n - 1 + W)
    tl.store(out + i, tl.load(x + i, mask), mask)


@triton.jit
def upside_down(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    end = x + (M - 1 + W) * N
    tl.store(out + row * N + i, tl.load(end - row * N + i, i < N), i < N)


@triton.jit
def size_product(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    whole = M * N if W else M.to(tl.int64) * N
    tl.store(out + i, tl.load(x + i, i < whole), i < whole)


@triton.jit
def without_the_first(x, out, n, k, BLOCK: tl.constexpr, W: tl.constexpr):
    i = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.uint32)
    mask = i < n - k if W else i + k < n
    tl.store(out + i, tl.load(x + i, mask), mask)


@triton.jit
def split_sum(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    row, i = tl.program_id(0), tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + row * N + i, i < N, 0.0)) + tl.program_id(2)
    if W:
        tl.store(out + row, total)
    else:
        tl.atomic_add(out + row, total)


@triton.jit
def returns_early(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    if first >= n + W:
        return
    i = first + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


@triton.jit
def while_it_fits(x, out, n, W: tl.constexpr):
    i, total = 0, 0.0
    while i < n:
        total += tl.load(x + i + W)
        i += 3
    tl.store(out, total)


@triton.jit
def steps_in_steps(x, out, M, N, W: tl.constexpr):
    total = 0.0
    for a in range(0, M, 2):
        for b in range(a, N, 3):
            total += tl.load(x + (a + W) * N + b)
    tl.store(out, total)


@triton.jit
def largest_of_four(x, out, n, W: tl.constexpr):
    i = tl.program_id(0)
    tl.atomic_max(out + (i + 3 * W) // 4, tl.load(x + i))


@triton.jit
def atomic_and_plain(x, out, n, W: tl.constexpr):
    i = tl.program_id(0)
    value = tl.load(x + i) + i
    tl.atomic_add(out, value)
    tl.store(out + i + 1 - W, value)


@triton.jit
def taller_box(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M + W, N], [N, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BLOCK, BLOCK])
    m, n = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    target.store([m, n], source.load([m, n]))


@triton.jit
def one_to_the_left(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK - 1 + tl.arange(0, BLOCK)
    mask = i < n if W else (i >= 0) & (i < n)
    tl.store(out + i, tl.load(x + i, mask), mask)


@triton.jit
def constant_turns(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), 8 - W):
        i = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n) + tl.program_id(0), i < n)


@triton.jit
def short_places(x, out, W: tl.constexpr):
    i = tl.arange(0, 64)
    tl.store(out + i, tl.load(x + i.to(tl.int16) * (500 + 100 * W)))


@triton.jit
def compared_without_sign(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) - 5
    mask = i < n if W else i.to(tl.uint32) < n.to(tl.uint32)
    tl.store(out + i, tl.load(x + i, mask), mask)


@triton.jit
def other_lane(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n if W else i < n // 2 * 2
    tl.store(out + i, tl.load(x + (i ^ 1), mask), mask)
