"""Has kernels with addresses, masks and loops that people seldom write. W = 0: right; W = 1: wrong
somewhere."""

import triton
import triton.language as tl


@triton.jit
def backwards(x, out, n, stride, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    last = x + (n - 1 + W) * stride
    tl.store(out + i, tl.load(last - i * stride, i < n), i < n)


@triton.jit
def bytes_(x, out, n, W: tl.constexpr):
    i = tl.arange(0, 256).to(tl.int8)
    at = i.to(tl.int32) if W else i.to(tl.int32) & 255
    tl.store(out + at, tl.load(x + at, at < n), at < n)


@triton.jit
def halfwords(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = i.to(tl.int16).to(tl.int32)
    mask = (i < n) & (i < 32768 + W * 8)
    tl.store(out + at, tl.load(x + at, mask), mask)


@triton.jit
def wide_rows(x, out, M, N, stride, BLOCK: tl.constexpr, W: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    start = (row * stride).to(tl.int64) if W else row.to(tl.int64) * stride
    for at in range(0, N, BLOCK):
        mask = i < N - at
        tl.store(out + row.to(tl.int64) * N + at + i, tl.load(x + start + at + i, mask), mask)


@triton.jit
def wrapping_mask(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i + W * 5 < n + W * 5
    tl.store(out + i, tl.load(x + i, mask), mask)


@triton.jit
def until(x, out, n, W: tl.constexpr):
    i = 0
    s = 0.0
    while i < n + W:
        s += tl.load(x + i)
        i += 1
    tl.store(out, s)


@triton.jit
def strided_range(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    for at in tl.range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = at + tl.arange(0, BLOCK)
        mask = i < (n + (BLOCK - 1 if W else 0)) // BLOCK * BLOCK
        tl.store(out + i, tl.load(x + i, mask & (i < n)), mask if W else i < n)


@triton.jit
def downwards(x, out, n, W: tl.constexpr):
    s = 0.0
    for i in range(n - 1 + W, -1, -1):
        s += tl.load(x + i)
    tl.store(out, s)


@triton.jit
def bins(x, out, n, V, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = i % V
    mask = (i < n) if W else (i < n) & (at < V - 1)
    tl.atomic_add(out + at + (0 if W == 0 else 1), 1.0, mask)


@triton.jit
def triangular(x, out, n, W: tl.constexpr):
    s = 0.0
    for i in range(0, n):
        for j in range(0, i + 1 + W):
            s += tl.load(x + i * (i + 1) // 2 + j)
    tl.store(out, s)


@triton.jit
def below(x, out, N, BLOCK: tl.constexpr, W: tl.constexpr):
    s = tl.zeros([BLOCK], tl.float32)
    row = tl.program_id(0)
    for at in range(0, row + 1 + W, BLOCK):
        i = at + tl.arange(0, BLOCK)
        s += tl.load(x + row * N + i, i <= row + W, other=0.0)
    tl.store(out + row, tl.sum(s))


@triton.jit
def compacted(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.arange(0, BLOCK)
    keep = tl.load(x + i, i < n, other=0.0) > 0
    at = tl.cumsum(keep.to(tl.int32), 0) - 1 + W
    tl.store(out + at, 1.0, keep)


@triton.jit
def multiple(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    m = tl.multiple_of(n, 16)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < (m // 16 * 16 if W else m)
    tl.store(out + i, tl.load(x + i, mask), mask)


@triton.jit
def unravelled(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = i // N, i % N
    at = column * N + row if W else column * M + row
    tl.store(out + at, tl.load(x + i, i < M * N), i < M * N)


@triton.jit
def modulo(x, out, n, m, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = (i - W) % m
    tl.store(out + i, tl.load(x + at), i < n)


@triton.jit
def columns(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    j = tl.arange(0, 16)[None, :]
    at = out + i + j * W
    tl.store(at + tl.zeros([BLOCK, 16], tl.int32), tl.zeros([BLOCK, 16], tl.float32), (i < M) & (j < N))


@triton.jit
def halo(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    for k in range(0, 2):
        i = start + k * (BLOCK // 2 + W) + tl.arange(0, BLOCK // 2)
        tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton.jit
def overlapping(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    for k in range(0, BLOCK // 2 + 1 + W):
        i = start + k + tl.arange(0, BLOCK // 2)
        tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton.jit
def first(x, out, n, W: tl.constexpr):
    s = tl.load(x) if W else tl.load(x, n > 0, other=0.0)
    for i in range(1, n):
        s += tl.load(x + i)
    tl.store(out, s)


@triton.jit
def plain_blocks(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton.jit
def long_sizes(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    pid = tl.program_id(0) if W else tl.program_id(0).to(tl.int64)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton.jit
def truncated(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    at = i.to(tl.int32) if W else i
    tl.store(out + i, tl.load(x + at, i < n), i < n)


@triton.jit
def chosen(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.where(i < n + W, i, 0)
    tl.store(out + i, tl.load(x + at), i < n)


@triton.jit
def swapped(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = i ^ 1
    mask = i < n if W else (i < n) & (at < n)
    tl.store(out + i, tl.load(x + at, mask), i < n)


@triton.jit
def at_most(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + tl.minimum(i, n - 1 + W)), i < n)


@triton.jit
def without_sign(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0).to(tl.uint32) * BLOCK + tl.arange(0, BLOCK)
    at = i - W
    tl.store(out + i, tl.load(x + at, i < n), i < n)


@triton.jit
def towards_zero(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = (i - 5) // 2 + 2 - W
    tl.store(out + i, tl.load(x + at, i < n), i < n)


@triton.jit
def three(x, out, A, B, C, W: tl.constexpr):
    a, b, c = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = (a * B + b) * (B if W else C) + c
    tl.store(out + at, tl.load(x + at))


@triton.jit
def other_index(x, index, out, n, V, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index + i, i < n, other=-1)
    mask = at < V if W else at >= 0
    tl.store(out + i, tl.load(x + at, mask), i < n)


@triton.jit
def interleaved_programs(x, out, n, W: tl.constexpr):
    p, count = tl.program_id(0), tl.num_programs(0)
    for i in range(p, n, count - W):
        tl.store(out + i, tl.load(x + i))


@triton.jit
def left_early(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    if start + BLOCK > n + W:
        return
    i = start + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


@triton.jit
def box(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M + W, N], [N, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BLOCK, BLOCK])
    i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    target.store([i, j], source.load([i, j]))


@triton.jit
def added_up(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    s = tl.zeros([BLOCK], tl.float32)
    pointer = x + row * N + i
    for at in range(0, N, BLOCK):
        s += tl.load(pointer, i < N - at, other=0.0)
        pointer += BLOCK
        if W and at > 0:
            pointer += 1
    tl.store(out + row, tl.sum(s))


@triton.jit
def shifted(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + ((i - W) >> 1), i < n), i < n)


@triton.jit
def counted_down(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    left = n
    at = 0
    while left > 0:
        i = at + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n + W), i < n)
        left -= BLOCK
        at += BLOCK


@triton.jit
def swapped_pointers(x, out, n, turns, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = x, out
    for _ in range(0, turns):
        tl.store(b + i + W, tl.load(a + i, i < n), i < n)
        a, b = b, a


@triton.jit
def mixed(x, out, M, N, sm, sn, BLOCK: tl.constexpr, W: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    column = i * sn if W else i.to(tl.int64) * sn
    mask = i < N
    tl.store(out + row.to(tl.int64) * N + i, tl.load(x + row.to(tl.int64) * sm + column, mask), mask)


@triton.jit
def flipped(x, out, n, stride, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + (n - 1 + W) + i * stride, i < n), i < n)


@triton.jit
def ring(x, out, n, m, start, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = (start - i) % m if W else (start + i) % m
    tl.store(out + i, tl.load(x + at), i < n)


@triton.jit
def stepped(x, out, n, STEP: tl.constexpr, W: tl.constexpr):
    for i in range(0, n if W else n // STEP * STEP, STEP):
        at = i + tl.arange(0, STEP)
        tl.store(out + at, tl.load(x + at))


@triton.jit
def swizzled(x, out, M, N, BLOCK: tl.constexpr, GROUP: tl.constexpr, W: tl.constexpr):
    pid = tl.program_id(0)
    m_blocks, n_blocks = tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)
    width = GROUP * n_blocks
    group = pid // width
    first = group * GROUP
    size = GROUP if W else min(m_blocks - first, GROUP)
    m = first + (pid % width) % size
    n = (pid % width) // size
    r, c = m * BLOCK + tl.arange(0, BLOCK)[:, None], n * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = (r < M) & (c < N)
    tl.store(out + r * N + c, tl.load(x + r * N + c, mask), mask)


@triton.jit
def unit_stride(x, out, n, stride, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i * (stride + W), i < n), i < n)


@triton.jit
def dead(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if n < (5 if W else 0):
        tl.store(out - 1, 1.0)
    tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton.jit(noinline=True)
def _row(x, row, N, more):
    return tl.load(x + row * N + more)


@triton.jit
def called(x, out, M, N, W: tl.constexpr):
    row = tl.program_id(0)
    s = 0.0
    for j in range(0, N):
        s += _row(x, row, N, j) + _row(x, row, N, N - 1 - j + W)
    tl.store(out + row, s)


@triton.jit(noinline=True)
def _place(i, n, W: tl.constexpr):
    if i >= n:
        return 0 if W == 0 else i
    return i


@triton.jit
def placed(x, out, n, W: tl.constexpr):
    i = tl.program_id(0)
    tl.store(out + i, tl.load(x + _place(i, n, W)), i < n)


@triton.jit
def unsigned_loop(x, out, n, W: tl.constexpr):
    s = 0.0
    for i in range(0, n + W):
        s += tl.load(x + i)
    tl.store(out, s)


@triton.jit
def both_bounds(x, out, n, k, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) - k
    mask = (i >= 0) & (i < n) if W == 0 else i < n
    tl.store(out + i, tl.load(x + i, mask), mask)


@triton.jit
def triangle_of_programs(x, out, n, W: tl.constexpr):
    p = tl.program_id(0)
    for q in range(p + (1 - W), n):
        tl.store(out + p * n + q, tl.load(x + q))
        tl.store(out + q * n + p, tl.load(x + p))


@triton.jit
def hashed(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = i.to(tl.uint32) * 2654435761
    at = (h & (1023 if W == 0 else 2047)).to(tl.int32)
    tl.store(out + i, tl.load(x + at, i < n), i < n)


@triton.jit
def box_and_pointer(x, out, M, N, BLOCK: tl.constexpr, W: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BLOCK, BLOCK])
    i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    r, c = i + tl.arange(0, BLOCK)[:, None], j + tl.arange(0, BLOCK)[None, :]
    a = tl.load(out + (r + W) * N + c, (r + W < M) & (c < N), other=0.0)
    target.store([i, j], a)


@triton.jit
def two_indices(x, index, out, n, V, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(index + i, i < n, other=0)
    b = tl.load(index + a * W + i * (1 - W), i < n, other=0)
    tl.store(out + i, tl.load(x + b, i < n), i < n)


@triton.jit
def early(x, out, n, k, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if k < 0:
        return
    tl.assume(k < 1)
    tl.store(out + i + (k if W == 0 else k + 1), tl.load(x + i, i < n), i < n)


@triton.jit
def decoded(x, out, A, B, C, W: tl.constexpr):
    pid = tl.program_id(0)
    c = pid % C
    b = pid // C % (B + W)
    a = pid // (C * B)
    at = (a * B + b) * C + c
    tl.store(out + at, tl.load(x + at))


@triton.jit
def clamped(x, out, n, m, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.minimum(tl.maximum(i - 3, 0), m - 1 + W)
    tl.store(out + i, tl.load(x + at), i < n)


@triton.jit
def chained(x, out, n, BLOCK: tl.constexpr, W: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = i
    for _ in tl.static_range(24):
        at = tl.minimum(at + 1, tl.maximum(at, n - 1 + W))
    tl.store(out + i, tl.load(x + at, i < n), i < n)
