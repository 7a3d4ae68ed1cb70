"""A product that counts its steps along K rounded down.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  product_without_its_last_step.py:32: `tl.cdiv` in place of `//`
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    if WRONG:
        steps = K // BK
    else:
        steps = tl.cdiv(K, BK)
    for k in range(0, steps):
        kk = k * BK + rk
        a = tl.load(
            a_ptr + rm[:, None] * K + kk[None, :], mask=(rm[:, None] < M) & (kk[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + kk[:, None] * N + rn[None, :], mask=(kk[:, None] < K) & (rn[None, :] < N), other=0.0
        )
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


torch.manual_seed(4)
a, b = torch.randn(50, 72), torch.randn(72, 40)
c = torch.empty(50, 40)
matmul_kernel[(2, 2)](a, b, c, 50, 40, 72, BM=32, BN=32, BK=32)
torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-4)
