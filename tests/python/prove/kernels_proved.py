"""Has kernels that are right for every size that is given of them, and the same with a fault each."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    on = at < n
    tl.store(out + at, tl.load(x + at, mask=on) + tl.load(y + at, mask=on), mask=on)


@triton.jit
def whole_blocks(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))


@triton.jit
def grid_stride(x, out, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def rows(x, out, M, N, stride_x, stride_out, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * stride_out + at, tl.load(x + row * stride_x + at, mask=at < N), mask=at < N)


@triton.jit
def rows_wide(x, out, M, N, stride_x, stride_out, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * stride_out + at, tl.load(x + row * stride_x + at, mask=at < N), mask=at < N)


@triton.jit
def row_loop(x, out, M, N, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    out += row * stride
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < N), mask=at < N)


@triton.jit
def softmax(out, x, stride_x, stride_out, M, N, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0)):
        at = tl.arange(0, BLOCK)
        values = tl.load(x + row * stride_x + at, mask=at < N, other=-float("inf"))
        e = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * stride_out + at, e / tl.sum(e, axis=0), mask=at < N)


@triton.jit
def layer_norm(x, out, weight, mean, M, N, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * stride + at, mask=at < N, other=0.0)
    average = tl.sum(total) / N
    tl.store(mean + row, average)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        w = tl.load(weight + at, mask=at < N)
        y = tl.load(x + row * stride + at, mask=at < N) - average
        tl.store(out + row * stride + at, y * w, mask=at < N)


@triton.jit
def matmul(a, b, c, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa = a + m[:, None] * am + k[None, :] * ak
    pb = b + k[:, None] * bk + n[None, :] * bn
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        left = K - i * BK
        va = tl.load(pa, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        vb = tl.load(pb, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        total = tl.dot(va, vb, total)
        pa += BK * ak
        pb += BK * bk
    tl.store(c + m[:, None] * cm + n[None, :] * cn, total, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def matmul_no_k_mask(a, b, c, M, N, K, am, ak, bk, bn, cm, cn,
                     BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa = a + m[:, None] * am + k[None, :] * ak
    pb = b + k[:, None] * bk + n[None, :] * bn
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        va = tl.load(pa, mask=m[:, None] < M, other=0.0)
        vb = tl.load(pb, mask=n[None, :] < N, other=0.0)
        total = tl.dot(va, vb, total)
        pa += BK * ak
        pb += BK * bk
    tl.store(c + m[:, None] * cm + n[None, :] * cn, total, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def matmul_swizzled(a, b, c, M, N, K, am, ak, bk, bn, cm, cn,
                    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):  # fmt: skip
    pid = tl.program_id(0)
    in_m, in_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (GROUP * in_n)
    size = min(in_m - group * GROUP, GROUP)
    m = (group * GROUP + (pid % (GROUP * in_n)) % size) * BM + tl.arange(0, BM)
    n = (pid % (GROUP * in_n)) // size * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa = a + (m % M)[:, None] * am + k[None, :] * ak
    pb = b + k[:, None] * bk + (n % N)[None, :] * bn
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        va = tl.load(pa, mask=k[None, :] < K - i * BK, other=0.0)
        vb = tl.load(pb, mask=k[:, None] < K - i * BK, other=0.0)
        total = tl.dot(va, vb, total)
        pa += BK * ak
        pb += BK * bk
    tl.store(c + m[:, None] * cm + n[None, :] * cn, total, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def transpose(x, out, M, N, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    on = (m[:, None] < M) & (n[None, :] < N)
    tile = tl.load(x + m[:, None] * N + n[None, :], mask=on)
    tl.store(out + n[:, None] * M + m[None, :], tl.trans(tile), mask=tl.trans(on))


@triton.jit
def batched(x, out, B, M, N, BLOCK: tl.constexpr):
    batch, row = tl.program_id(1), tl.program_id(0)
    at = tl.arange(0, BLOCK)
    place = (batch * M + row) * N + at
    tl.store(out + place, tl.load(x + place, mask=at < N), mask=at < N)


@triton.jit
def row_sums(x, out, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * N + at, mask=at < N, other=0.0)))


@triton.jit
def column_sums(x, out, M, N, BLOCK: tl.constexpr):
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for row in range(M):
        total += tl.load(x + row * N + n, mask=n < N, other=0.0)
    tl.store(out + n, total, mask=n < N)


@triton.jit
def gather(x, index, out, n, V, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = tl.load(index + at, mask=at < n, other=0)
    tl.store(out + at, tl.load(x + i, mask=at < n), mask=at < n)


@triton.jit
def embedding(table, index, out, n, V, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.load(index + row)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * D + at, tl.load(table + i * D + at, mask=at < D), mask=at < D)


@triton.jit
def histogram(x, bins, n, V, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0)))


@triton.jit
def scale_in_place(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def attention(q, k, v, out, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    head = tl.program_id(1) * N * D
    vq = tl.load(q + head + m[:, None] * D + d[None, :], mask=m[:, None] < N, other=0.0)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, N, BN):
        n = start + tl.arange(0, BN)
        vk = tl.load(k + head + n[None, :] * D + d[:, None], mask=n[None, :] < N, other=0.0)
        vv = tl.load(v + head + n[:, None] * D + d[None, :], mask=n[:, None] < N, other=0.0)
        p = tl.where(n[None, :] < N, tl.exp(tl.dot(vq, vk)), 0.0)
        total = tl.dot(p.to(tl.float16), vv, total)
    tl.store(out + head + m[:, None] * D + d[None, :], total, mask=m[:, None] < N)


@triton.jit
def attention_even(q, k, v, out, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """The mask is left out where the length is a multiple of BM: BN may not divide it."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    head = tl.program_id(1) * N * D
    vq = tl.load(q + head + m[:, None] * D + d[None, :], mask=m[:, None] < N, other=0.0)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, N, BN):
        n = start + tl.arange(0, BN)
        on = (n < N) | (N % BM == 0)
        vk = tl.load(k + head + n[None, :] * D + d[:, None], mask=on[None, :], other=0.0)
        vv = tl.load(v + head + n[:, None] * D + d[None, :], mask=on[:, None], other=0.0)
        total = tl.dot(tl.dot(vq, vk).to(tl.float16), vv, total)
    tl.store(out + head + m[:, None] * D + d[None, :], total, mask=m[:, None] < N)


@triton.jit
def causal(q, k, out, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    start_m = tl.program_id(0)
    m = start_m * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    vq = tl.load(q + m[:, None] * D + d[None, :], mask=m[:, None] < N, other=0.0)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, tl.minimum((start_m + 1) * BM, N), BN):
        n = start + tl.arange(0, BN)
        vk = tl.load(k + n[:, None] * D + d[None, :], mask=n[:, None] < N, other=0.0)
        total = tl.dot(tl.dot(vq, tl.trans(vk)).to(tl.float16), vk, total)
    tl.store(out + m[:, None] * D + d[None, :], total, mask=m[:, None] < N)


@triton.jit
def rotate(x, out, M, HALF, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    on = at < HALF
    a = tl.load(x + row * 2 * HALF + at, mask=on)
    b = tl.load(x + row * 2 * HALF + HALF + at, mask=on)
    tl.store(out + row * 2 * HALF + at, a - b, mask=on)
    tl.store(out + row * 2 * HALF + HALF + at, a + b, mask=on)


@triton.jit
def reverse(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + n - 1 - at, mask=at < n), mask=at < n)


@triton.jit
def reverse_off(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + n - at, mask=at < n), mask=at < n)


@triton.jit
def every_second(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + 2 * at, mask=at < n), mask=at < n)


@triton.jit
def divided(x, out, n, k, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at // k, mask=at < n), mask=at < n)


@triton.jit
def early_return(x, out, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row >= M:
        return
    at = tl.arange(0, BLOCK)
    tl.store(out + row * N + at, tl.load(x + row * N + at, mask=at < N), mask=at < N)


@triton.jit
def persistent(x, out, M, N, BLOCK: tl.constexpr):
    in_n = tl.cdiv(N, BLOCK)
    for tile in range(tl.program_id(0), M * in_n, tl.num_programs(0)):
        row = tile // in_n
        at = tile % in_n * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + row * N + at, tl.load(x + row * N + at, mask=at < N), mask=at < N)


@triton.jit
def stencil(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + at - 1, mask=(at > 0) & (at < n), other=0.0)
    right = tl.load(x + at + 1, mask=at < n - 1, other=0.0)
    tl.store(out + at, left + right, mask=at < n)


@triton.jit
def stencil_left(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + at - 1, mask=at < n, other=0.0)
    tl.store(out + at, left, mask=at < n)


@triton.jit
def dropout(x, out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > 0.5
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=at < n), 0.0), mask=at < n)


@triton.jit
def padded(x, out, M, N, P, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * N + at, mask=at < N, other=0.0)
    tl.store(out + row * P + at, values, mask=at < P)


@triton.jit
def assumed(x, out, n, m, BLOCK: tl.constexpr):
    tl.assume(m <= n)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < m), mask=at < m)


@triton.jit
def described(x, out, M, N, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BLOCK, BLOCK])
    m, n = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    target.store([m, n], source.load([m, n]))


@triton.jit
def branches(x, out, n, flag, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if flag > 0:
        tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)
    else:
        tl.store(out + at, tl.zeros([BLOCK], tl.float32), mask=at < n)


@triton.jit
def split_k(a, out, M, K, PART, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    sums = tl.zeros([BLOCK], tl.float32)
    for start in range(part * PART, tl.minimum((part + 1) * PART, K), BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += tl.load(a + row * K + at, mask=at < K, other=0.0)
    tl.atomic_add(out + row, tl.sum(sums))


@triton.jit
def nothing(x, n):
    pass


# ---- faults


@triton.jit
def add_unmasked_load(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def add_unmasked_store(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n))


@triton.jit
def add_one_more(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at <= n)


@triton.jit
def add_one_less(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n - 1)


@triton.jit
def add_shifted(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) + 1
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def add_half_blocks(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK // 2)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def add_except_one_length(x, y, out, n, BLOCK: tl.constexpr):
    """Only where one element is over after 7 blocks of 8."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    on = (at < n) | (n % (8 * BLOCK) == 7 * BLOCK + 1)
    tl.store(out + at, tl.load(x + at, mask=on) + tl.load(y + at, mask=on), mask=on)


@triton.jit
def meeting(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.program_id(0), mask=at < n)


@triton.jit
def all_to_one(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0)) + tl.program_id(0))


@triton.jit
def shifted_in_place(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at + 1, mask=at + 1 < n, other=0.0)
    tl.store(x + at, value + 1, mask=at < n)


@triton.jit
def wrong_stride(x, out, M, N, stride_x, stride_out, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out + row * stride_x + at, tl.load(x + row * stride_x + at, mask=at < N), mask=at < N)


@triton.jit
def wrong_extent(x, out, M, N, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    on = (m[:, None] < N) & (n[None, :] < M)
    tile = tl.load(x + m[:, None] * N + n[None, :], mask=on)
    tl.store(out + n[:, None] * M + m[None, :], tl.trans(tile), mask=tl.trans(on))


@triton.jit
def loop_one_short(x, out, M, N, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, N - BLOCK, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + row * stride + at, tl.load(x + row * stride + at, mask=at < N), mask=at < N)


@triton.jit
def whole_loop_only(x, out, M, N, stride, BLOCK: tl.constexpr):
    """The tail after N // BLOCK blocks is left out."""
    row = tl.program_id(0)
    for i in range(0, N // BLOCK):
        at = i * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + row * stride + at, tl.load(x + row * stride + at))


@triton.jit
def negative_row(x, out, M, N, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + (row - 1) * N + at, mask=at < N)
    tl.store(out + row * N + at, value, mask=at < N)


@triton.jit
def step_of_zero(x, out, n, step, BLOCK: tl.constexpr):
    for start in range(0, n, step):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)
