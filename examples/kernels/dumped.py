"""The kernels of examples/dump and examples/debugging, and their launches.

A launch takes the kernel (one with dl.dump statements, or the plain one here) and the keywords that dump, and
returns the inputs as tensors of the device, from which a script makes its reference.
"""

import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    output = x + y
    tl.store(out_ptr + offsets, output, mask=inside)


def vector_add(device, kernel=add_kernel, n=10240, block=1024, **keywords):
    x, y, out = device.normal(n), device.normal(n), device.zeros(n)
    kernel[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block, **keywords)
    return x, y


@triton_runner.jit
def transpose_kernel(
    in_ptr, out_ptr, rows, cols, stride_in, stride_out, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr
):
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    block = tl.load(in_ptr + r[:, None] * stride_in + c[None, :], mask=inside, other=0.0)
    turned = tl.trans(block)
    tl.store(out_ptr + c[:, None] * stride_out + r[None, :], turned, mask=tl.trans(inside))


def transpose(device, kernel=transpose_kernel, rows=96, cols=80, block=(32, 16), **keywords):
    x, out = device.normal(rows, cols), device.zeros(cols, rows)
    grid = (triton.cdiv(rows, block[0]), triton.cdiv(cols, block[1]))
    kernel[grid](x, out, rows, cols, cols, rows, BLOCK_R=block[0], BLOCK_C=block[1], **keywords)
    return x


@triton_runner.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * k + ks[None, :]
    b_ptrs = b_ptr + ks[:, None] * n + cols[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for i in range(0, tl.cdiv(k, BLOCK_K)):
        a = tl.load(a_ptrs, mask=ks[None, :] < k - i * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=ks[:, None] < k - i * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * n
    c_ptrs = c_ptr + rows[:, None] * n + cols[None, :]
    tl.store(c_ptrs, acc.to(tl.float16), mask=(rows[:, None] < m) & (cols[None, :] < n))


def matmul(device, kernel=matmul_kernel, m=128, n=192, k=256, block=64, **keywords):
    a, b = device.normal(m, k, dtype="float16"), device.normal(k, n, dtype="float16")
    c = device.zeros(m, n, dtype="float16")
    kernel[(triton.cdiv(m, block), triton.cdiv(n, block))](
        a, b, c, m, n, k, BLOCK_M=block, BLOCK_N=block, BLOCK_K=32, num_warps=4, num_stages=3, **keywords
    )
    return a, b


@triton_runner.jit
def softmax_kernel(out_ptr, in_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * cols
    lanes = tl.arange(0, BLOCK)
    highest = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        x = tl.load(in_ptr + row + start + lanes, mask=start + lanes < cols, other=-float("inf"))
        highest = tl.maximum(highest, x)
    row_max = tl.max(highest, axis=0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        x = tl.load(in_ptr + row + start + lanes, mask=start + lanes < cols, other=-float("inf"))
        total += tl.exp(x - row_max)
    row_sum = tl.sum(total, axis=0)
    for start in range(0, cols, BLOCK):
        inside = start + lanes < cols
        x = tl.load(in_ptr + row + start + lanes, mask=inside)
        tl.store(out_ptr + row + start + lanes, tl.exp(x - row_max) / row_sum, mask=inside)


def softmax(device, kernel=softmax_kernel, rows=8, cols=781, block=256, **keywords):
    x, out = device.normal(rows, cols), device.zeros(rows, cols)
    kernel[(rows,)](out, x, cols, BLOCK=block, **keywords)
    return x


@triton_runner.jit
def softmax_lse_kernel(out_ptr, lse_ptr, in_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLS)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    x = tl.load(in_ptr + r[:, None] * cols + c[None, :], mask=inside, other=-float("inf"))
    row_max = tl.max(x, axis=1)
    numerator = tl.exp(x - row_max[:, None])
    acc = tl.sum(numerator, axis=1)
    log_acc = tl.log(acc)
    tl.store(lse_ptr + r, row_max + log_acc, mask=r < rows)
    tl.store(out_ptr + r[:, None] * cols + c[None, :], numerator / acc[:, None], mask=inside)


def softmax_lse(device, kernel=softmax_lse_kernel, rows=64, cols=100, block=(16, 128), **keywords):
    x, out, lse = device.normal(rows, cols), device.zeros(rows, cols), device.zeros(rows)
    kernel[(triton.cdiv(rows, block[0]),)](out, lse, x, rows, cols, ROWS=block[0], COLS=block[1], **keywords)
    return x


@triton_runner.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, length,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    keys = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, HEAD)
    q = tl.load(q_ptr + rows[:, None] * HEAD + dims[None, :])
    highest = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start in range(0, length, BLOCK_N):
        k = tl.load(k_ptr + (start + keys)[None, :] * HEAD + dims[:, None])
        v = tl.load(v_ptr + (start + keys)[:, None] * HEAD + dims[None, :])
        scores = tl.dot(q, k) * scale
        higher = tl.maximum(highest, tl.max(scores, 1))
        p = tl.exp(scores - higher[:, None])
        shrink = tl.exp(highest - higher)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * shrink[:, None])
        highest = higher
    out = acc / total[:, None]
    tl.store(out_ptr + rows[:, None] * HEAD + dims[None, :], out.to(tl.float16))


def attention(device, kernel=attention_kernel, length=128, head=32, block=(32, 32), **keywords):
    q, k, v = (device.normal(length, head, dtype="float16") for _ in range(3))
    out = device.zeros(length, head, dtype="float16")
    kernel[(length // block[0],)](
        q,
        k,
        v,
        out,
        head**-0.5,
        length,
        HEAD=head,
        BLOCK_M=block[0],
        BLOCK_N=block[1],
        num_warps=4,
        **keywords,
    )
    return q, k, v


def run(device):
    """Every launch once: what tools/compile_example.py compiles for examples/generate_dumps.py."""
    for launch in (vector_add, transpose, matmul, softmax, softmax_lse, attention):
        launch(device)
