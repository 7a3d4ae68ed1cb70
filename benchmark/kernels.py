"""The benchmark's kernels as anybody writes them, plain @triton.jit: sizes, launches and references.

The same functions run on this package's engines and on Triton's interpreter (TRITON_INTERPRET=1).
"""

import dataclasses
from collections.abc import Callable

import torch
import triton
import triton.language as tl


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + y, mask=inside)


@triton.jit
def softmax(out_ptr, in_ptr, in_stride, out_stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * in_stride + at, mask=at < cols, other=-float("inf"))
    powers = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_stride + at, powers / tl.sum(powers, axis=0), mask=at < cols)


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    blocks_m = tl.cdiv(M, BLOCK_M)
    blocks_n = tl.cdiv(N, BLOCK_N)
    first_m = pid // (GROUP_M * blocks_n) * GROUP_M
    group_rows = min(blocks_m - first_m, GROUP_M)
    pid_m = first_m + pid % (GROUP_M * blocks_n) % group_rows
    pid_n = pid % (GROUP_M * blocks_n) // group_rows
    rows = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    cols = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    ks = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + ks[None, :] * stride_ak
    b_ptrs = b_ptr + ks[:, None] * stride_bk + cols[None, :] * stride_bn
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=ks[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=ks[:, None] < K - k * BLOCK_K, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    tl.store(c_ptrs, total.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def layer_norm(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < cols, other=0.0).to(tl.float32)
        x = tl.where(at < cols, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < cols
        w = tl.load(w_ptr + at, mask=inside)
        b = tl.load(b_ptr + at, mask=inside)
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, (x - mean) * rstd * w + b, mask=inside)


@triton.jit
def flash_attention(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, stride_head, length,
    DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    base = tl.program_id(1) * stride_head
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    keys = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, DIM)
    q = tl.load(q_ptr + base + rows[:, None] * DIM + dims[None, :])
    highest = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, DIM], dtype=tl.float32)
    scale *= 1.4426950408889634  # log2(e)
    for start in range(0, length, BLOCK_N):
        k = tl.load(k_ptr + base + (start + keys)[None, :] * DIM + dims[:, None])
        scores = tl.dot(q, k) * scale
        new_highest = tl.maximum(highest, tl.max(scores, 1))
        p = tl.math.exp2(scores - new_highest[:, None])
        shrink = tl.math.exp2(highest - new_highest)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + base + (start + keys)[:, None] * DIM + dims[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * shrink[:, None])
        highest = new_highest
    tl.store(out_ptr + base + rows[:, None] * DIM + dims[None, :], (acc / total[:, None]).to(tl.float16))


@dataclasses.dataclass
class Case:
    """A kernel at one size: `launch()` fills `out`, `torch()` computes the same in `torch_type`."""

    name: str
    size: str
    launch: Callable[[], object]
    torch: Callable[[], torch.Tensor]
    torch_type: str
    out: torch.Tensor
    tolerance: float
    wanted: int | None = None  # times faster than the interpreter


def add_case() -> Case:
    n = 98432
    x, y = torch.randn(n), torch.randn(n)
    out, reference = torch.empty(n), torch.empty(n)
    launch = lambda: vector_add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)  # noqa: E731
    return Case(
        "vector add", "98,432 f32", launch, lambda: torch.add(x, y, out=reference), "f32", out, 0, 500
    )


def softmax_case() -> Case:
    rows, cols = 1823, 781
    x = torch.randn(rows, cols)
    out = torch.empty_like(x)
    launch = lambda: softmax[(rows,)](out, x, cols, cols, cols, BLOCK=1024)  # noqa: E731
    return Case("softmax", "1823 x 781 f32", launch, lambda: torch.softmax(x, 1), "f32", out, 1e-6, 500)


def matmul_case(n: int, wanted: int | None) -> Case:
    a, b = (torch.randn(n, n, dtype=torch.float16) for _ in range(2))
    a32, b32 = a.float(), b.float()
    out = torch.empty(n, n, dtype=torch.float16)
    grid = (triton.cdiv(n, 64) ** 2,)
    launch = lambda: matmul[grid](  # noqa: E731
        a, b, out, n, n, n, n, 1, n, 1, n, 1, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP_M=8
    )
    # torch multiplies f16 on a CPU without its fast kernels (95 ms at 512): f32 is the baseline worth having.
    return Case("matmul", f"{n}^3 f16", launch, lambda: a32 @ b32, "f32", out, 0.1, wanted)


def layer_norm_case() -> Case:
    rows, cols = 1151, 8192
    x, w, b = torch.randn(rows, cols), torch.rand(cols), torch.rand(cols)
    y, mean, rstd = torch.empty_like(x), torch.empty(rows), torch.empty(rows)
    launch = lambda: layer_norm[(rows,)](x, y, w, b, mean, rstd, cols, cols, 1e-5, BLOCK=8192)  # noqa: E731
    reference = lambda: torch.nn.functional.layer_norm(x, (cols,), w, b, 1e-5)  # noqa: E731
    return Case("layer norm", "1151 x 8192 f32", launch, reference, "f32", y, 1e-4, 100)


def attention_case() -> Case:
    heads, length, dim = 2, 1024, 64
    q, k, v = (torch.randn(1, heads, length, dim, dtype=torch.float16) for _ in range(3))
    q32, k32, v32 = q.float(), k.float(), v.float()
    out = torch.empty_like(q)
    launch = lambda: flash_attention[(length // 128, heads)](  # noqa: E731
        q, k, v, out, dim**-0.5, length * dim, length, DIM=dim, BLOCK_M=128, BLOCK_N=64
    )
    reference = lambda: torch.nn.functional.scaled_dot_product_attention(q32, k32, v32)  # noqa: E731
    return Case("flash attention", "Z1 H2 1024 x 64 f16", launch, reference, "f32", out, 2e-3, 100)


def cases() -> dict[str, Callable[[], Case]]:
    """By a short name; made when asked for, from the same random numbers in every process."""

    def seeded(make, *args):
        def build():
            torch.manual_seed(0)
            return make(*args)

        return build

    return {
        "add": seeded(add_case),
        "softmax": seeded(softmax_case),
        "matmul-512": seeded(matmul_case, 512, 500),
        "matmul-1024": seeded(matmul_case, 1024, None),
        "layer-norm": seeded(layer_norm_case),
        "attention": seeded(attention_case),
    }
