"""Has kernels that many passes change, and a small one whose constant is easy to edit."""

import triton.language as tl
import triton_runner


@triton_runner.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + inner[None, :])
        total += tl.dot(left, tl.load(b + inner[:, None] * N + columns[None, :]))
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton_runner.jit
def fill(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.full((BLOCK,), 3.0, tl.float32))


@triton_runner.jit
def strided(out, stride, value, nothing, N: tl.constexpr):
    tl.store(out + tl.arange(0, N) * stride, value)


@triton_runner.jit
def scaled(a, a_scale, b, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Without tensor cores for it (sm_75), Triton unrolls the product to multiply-adds."""
    m, n, k, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    left_scale = tl.load(a_scale + m[:, None] * (K // 32) + s[None, :])
    right_scale = tl.load(b_scale + n[:, None] * (K // 32) + s[None, :])
    total = tl.dot_scaled(left, left_scale, "e5m2", right, right_scale, "e5m2")
    tl.store(c + m[:, None] * N + n[None, :], total)
