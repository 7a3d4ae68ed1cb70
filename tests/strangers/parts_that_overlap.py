"""A product split along K, whose parts are masked by the end of K and not by their own: some products are
added twice.

    $ verify FILE right
    status  0
    says  verdict: nondeterministic
    $ verify FILE wrong
    status  1
    says  4 programs add to it
    says  a[0, 0:300] (63 of them twice) and 21 masked, which are 0: tt.load at
    says  parts_that_overlap.py:41
    never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def splitk_kernel(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr
):
    pid_m, pid_n, pid_k = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    offs_m = pid_m * BM + tl.arange(0, BM)
    offs_n = pid_n * BN + tl.arange(0, BN)
    per_split = tl.cdiv(K, SPLIT)
    k_start = pid_k * per_split
    k_end = min(k_start + per_split, K)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(k_start, k_end, BK):
        ks = k + tl.arange(0, BK)
        if WRONG:
            k_mask = ks < K
        else:
            k_mask = ks < k_end
        x = tl.load(
            a + offs_m[:, None] * K + ks[None, :], mask=(offs_m[:, None] < M) & k_mask[None, :], other=0.0
        )
        y = tl.load(
            b + ks[:, None] * N + offs_n[None, :], mask=k_mask[:, None] & (offs_n[None, :] < N), other=0.0
        )
        acc = tl.dot(x, y, acc)
    tl.atomic_add(
        c + offs_m[:, None] * N + offs_n[None, :],
        acc,
        mask=(offs_m[:, None] < M) & (offs_n[None, :] < N),
        sem="relaxed",
    )


def matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, dtype=torch.float32)
    splitk_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 32), 4)](a, b, c, M, N, K, BM=16, BN=32, BK=32, SPLIT=4)
    return c


torch.manual_seed(0)
a = torch.randn(30, 300).half()
b = torch.randn(300, 50).half()
c = matmul(a, b)
expected = a.float() @ b.float()
print("max diff:", (c - expected).abs().max().item())
torch.testing.assert_close(c, expected, atol=1e-2, rtol=1e-2)
