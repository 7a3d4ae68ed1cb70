"""Tempts zerodiv, oob, timing: persistent programs over flattened loops; what the pipeliner speculates
divides by a group of no rows, and nobody uses it."""

import torch
import triton
import triton.language as tl


@triton.jit
def tile_of(t, rows, cols, GROUP: tl.constexpr):
    width = GROUP * cols
    first = t // width * GROUP
    size = min(rows - first, GROUP)
    return first + (t % width) % size, (t % width) // size


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr,
           STAGES: tl.constexpr):  # fmt: skip
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    rk = tl.arange(0, BK)
    for t in tl.range(tl.program_id(0), rows * cols, PROGRAMS, flatten=True, num_stages=STAGES):
        pm, pn = tile_of(t, rows, cols, 2)
        rm, rn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            at = k * BK + rk
            x = tl.load(
                a + rm[:, None] * K + at[None, :], mask=(rm[:, None] < M) & (at[None, :] < K), other=0.0
            )
            y = tl.load(
                b + rn[None, :] * K + at[:, None], mask=(rn[None, :] < N) & (at[:, None] < K), other=0.0
            )
            acc = tl.dot(x, y, acc)
        tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16),
                 mask=(rm[:, None] < M) & (rn[None, :] < N))  # fmt: skip


torch.manual_seed(0)
M, N, K = 100, 90, 96
a, b = torch.randn(M, K).half(), torch.randn(N, K).half()
for stages in (3, 4):
    c = torch.empty(M, N, dtype=torch.float16)
    matmul[(3,)](a, b, c, M, N, K, BM=32, BN=32, BK=32, PROGRAMS=3, STAGES=stages)
    torch.testing.assert_close(c.float(), a.float() @ b.float().T, rtol=1e-2, atol=1e-2)
