"""A product of two matrices in blocks, with the strides of both."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a, b, c, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        left = (rows[:, None] < M) & (inner[None, :] < K)
        right = (inner[:, None] < K) & (columns[None, :] < N)
        x = tl.load(a + rows[:, None] * am + inner[None, :] * ak, left, other=0.0)
        y = tl.load(b + inner[:, None] * bk + columns[None, :] * bn, right, other=0.0)
        total += tl.dot(x, y)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * cm + columns[None, :] * cn, total.to(c.dtype.element_ty), inside)


def matmul(a, b):
    assert a.shape[1] == b.shape[0], "the inner sizes differ"
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BM=32, BN=32, BK=32)
    return c


def reference(a, b):
    return a @ b


if __name__ == "__main__":
    a = torch.randn(64, 96, device="cuda", dtype=torch.float16)
    b = torch.randn(96, 128, device="cuda", dtype=torch.float16)
    assert torch.allclose(matmul(a, b), reference(a, b), atol=0.05)
