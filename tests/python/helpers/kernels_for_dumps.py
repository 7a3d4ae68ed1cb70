"""Has the kernels whose values and registers are dumped, on the CPU (test_dump_*.py) and on a GPU
(tests/gpu)."""

import triton.language as tl
import triton_runner


@triton_runner.jit
def add(x_ptr, y_ptr, o_ptr, n, B: tl.constexpr):
    offsets = tl.program_id(0) * B + tl.arange(0, B)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    y = tl.load(y_ptr + offsets, mask=inside, other=0.0)
    total = x + y
    tl.store(o_ptr + offsets, total, mask=inside)


@triton_runner.jit
def row_sums(x_ptr, o_ptr, columns, B: tl.constexpr):
    row = tl.program_id(0) + tl.num_programs(0) * tl.program_id(1)
    total = tl.zeros((B,), tl.float32)
    steps = 0
    for start in range(0, columns, B):
        where = start + tl.arange(0, B)
        block = tl.load(x_ptr + row * columns + where, mask=where < columns, other=0.0).to(tl.float32)
        if start > 0:
            block = block * 0.5
        total += block
        steps += 1
    tl.store(o_ptr + row, tl.sum(total, axis=0) + steps)


@triton_runner.jit
def row_squares(x_ptr, o_ptr, columns, B: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for start in range(0, columns, B):
        where = start + tl.arange(0, B)
        block = tl.load(x_ptr + row * columns + where, mask=where < columns, other=0.0).to(tl.float32)
        total += block * block
    tl.store(o_ptr + row, tl.sum(total, axis=0))


@triton_runner.jit
def softmax(x_ptr, o_ptr, columns, B: tl.constexpr):
    row = tl.program_id(0)
    where = tl.arange(0, B)
    x = tl.load(x_ptr + row * columns + where, mask=where < columns, other=-float("inf"))
    largest = tl.max(x, axis=0)
    shifted = x - largest
    weights = tl.exp(shifted)
    total = tl.sum(weights, axis=0)
    result = weights / total
    tl.store(o_ptr + row * columns + where, result, mask=where < columns)


@triton_runner.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    columns = tl.cdiv(N, BN)
    rm = (pid // columns) * BM + tl.arange(0, BM)
    rn = (pid % columns) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(b_ptr + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(a, b, acc)
    c = acc * 2.0
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], c.to(c_ptr.dtype.element_ty))


@triton_runner.jit
def described(a, b, c, N, K, BLOCK: tl.constexpr, SPECIALIZE: tl.constexpr):
    a = tl.make_tensor_descriptor(a, [BLOCK, K], [K, 1], [BLOCK, BLOCK])
    b = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BLOCK, BLOCK])
    c = tl.make_tensor_descriptor(c, [BLOCK, N], [N, 1], [BLOCK, BLOCK])
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in tl.range(0, K, BLOCK, warp_specialize=SPECIALIZE):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
    c.store([0, 0], acc.to(tl.float16))


@triton_runner.jit
def collatz(x_ptr, o_ptr, B: tl.constexpr):
    value = tl.load(x_ptr + tl.program_id(0))
    steps = 0
    while value > 1:
        half = value // 2
        value = tl.where(value % 2 == 0, half, 3 * value + 1)
        steps += 1
    lane = tl.arange(0, B)
    tl.store(o_ptr + tl.program_id(0) * B + lane, steps + lane)


@triton_runner.jit
def two_blocks(x_ptr, o_ptr, B: tl.constexpr):
    where = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x_ptr + where)
    total = tl.sum(value, 0)
    tl.store(o_ptr + where, value - total)


@triton_runner.jit
def outer_product(a_ptr, b_ptr, o_ptr, N, K, M: tl.constexpr, B: tl.constexpr):
    columns = tl.program_id(0) * B + tl.arange(0, B)
    rows = tl.arange(0, M)[:, None]
    total = tl.zeros((M, B), tl.float32)
    for n in range(N):
        a = tl.load(a_ptr + rows * N + n)
        b = tl.load(b_ptr + columns[None, :] + n * K)
        c = b.to(tl.float32)  # noqa: F841 - only what no pass has seen still holds it
        total += a * b
    tl.store(o_ptr + rows * K + columns[None, :], total.to(tl.bfloat16))
