"""A persistent product that goes on adding to the sums of its last tile.

$ verify FILE right
status  0
says  verdict: right
$ verify FILE wrong
status  1
says  c_ptr[32, 0] is 14, and is compared with 6.53125
says  all that differ are in [32:96, 0:100] of [96, 100]
says  a_ptr[0 and 32, 0:80] and 32 masked, which are 0: tt.load at
says  sums_of_the_tile_before.py:42
says  in 2 turns of the loop at
says  sums_of_the_tile_before.py:36
never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def persistent_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, NUM_SMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    start = tl.program_id(0)
    num_n = tl.cdiv(N, BN)
    num_tiles = tl.cdiv(M, BM) * num_n
    offs_k = tl.arange(0, BK)
    if WRONG:
        acc = tl.zeros((BM, BN), dtype=tl.float32)
    for tile in range(start, num_tiles, NUM_SMS):
        offs_m = tile // num_n * BM + tl.arange(0, BM)
        offs_n = tile % num_n * BN + tl.arange(0, BN)
        if not WRONG:
            acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            a = tl.load(
                a_ptr + offs_m[:, None] * K + k + offs_k[None, :],
                mask=(offs_m[:, None] < M) & (k + offs_k[None, :] < K),
                other=0.0,
            )
            b = tl.load(
                b_ptr + (k + offs_k[:, None]) * N + offs_n[None, :],
                mask=(k + offs_k[:, None] < K) & (offs_n[None, :] < N),
                other=0.0,
            )
            acc = tl.dot(a, b, acc)
        tl.store(
            c_ptr + offs_m[:, None] * N + offs_n[None, :],
            acc.to(tl.bfloat16),
            mask=(offs_m[:, None] < M) & (offs_n[None, :] < N),
        )


def matmul(a, b):
    c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype)
    persistent_matmul[(4,)](a, b, c, a.shape[0], b.shape[1], a.shape[1], NUM_SMS=4, BM=32, BN=32, BK=32)
    return c


torch.manual_seed(0)
a = torch.randn(96, 80, dtype=torch.bfloat16)
b = torch.randn(80, 100, dtype=torch.bfloat16)
torch.testing.assert_close(matmul(a, b), a @ b, atol=0.1, rtol=2e-2)
