"""A grouped product, whose matrices the kernel finds in tables of pointers: with the row stride of the left
matrix for the right one.

    $ verify FILE right
    status  0
    says  *c_ptrs[0]: 2 of 4096 elements differ between ttgir and ptx
    says  verdict: right
    $ verify FILE wrong
    status  1
    says  *c_ptrs[1][0, 0] is 1.23047, and is compared with -14.0156; 4,586 of 4,608 elements differ
    says  *a_ptrs[1][0, 0:40] and 8 masked, which are 0: tt.load at
    says  stride_of_the_other_matrix.py:67
    says  40 elements of *b_ptrs[1][0:17, 0:89:8] and 8 masked
    says  which are 0: tt.load at
    says  stride_of_the_other_matrix.py:72
    says  3 of 9 elements of g_lds are read by no program, the first is g_lds[0, 1]
    never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def grouped_matmul_kernel(
    a_ptrs,
    b_ptrs,
    c_ptrs,
    g_sizes,
    g_lds,
    group_size,
    NUM_SM: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    tile_idx = tl.program_id(0)
    last_problem_end = 0
    for g in range(group_size):
        gm = tl.load(g_sizes + g * 3)
        gn = tl.load(g_sizes + g * 3 + 1)
        gk = tl.load(g_sizes + g * 3 + 2)
        num_n = tl.cdiv(gn, BN)
        num_tiles = tl.cdiv(gm, BM) * num_n
        while tile_idx >= last_problem_end and tile_idx < last_problem_end + num_tiles:
            lda = tl.load(g_lds + g * 3)
            if WRONG:
                ldb = tl.load(g_lds + g * 3)
            else:
                ldb = tl.load(g_lds + g * 3 + 1)
            ldc = tl.load(g_lds + g * 3 + 2)
            a = tl.load(a_ptrs + g).to(tl.pointer_type(tl.float16))
            b = tl.load(b_ptrs + g).to(tl.pointer_type(tl.float16))
            c = tl.load(c_ptrs + g).to(tl.pointer_type(tl.float16))
            t = tile_idx - last_problem_end
            offs_m = t // num_n * BM + tl.arange(0, BM)
            offs_n = t % num_n * BN + tl.arange(0, BN)
            offs_k = tl.arange(0, BK)
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for k in range(0, tl.cdiv(gk, BK)):
                ks = k * BK + offs_k
                x = tl.load(
                    a + offs_m[:, None] * lda + ks[None, :],
                    mask=(offs_m[:, None] < gm) & (ks[None, :] < gk),
                    other=0.0,
                )
                y = tl.load(
                    b + ks[:, None] * ldb + offs_n[None, :],
                    mask=(ks[:, None] < gk) & (offs_n[None, :] < gn),
                    other=0.0,
                )
                acc += tl.dot(x, y)
            tl.store(
                c + offs_m[:, None] * ldc + offs_n[None, :],
                acc.to(tl.float16),
                mask=(offs_m[:, None] < gm) & (offs_n[None, :] < gn),
            )
            tile_idx += NUM_SM
        last_problem_end += num_tiles


def group_gemm(As, Bs):
    Cs = [torch.empty(a.shape[0], b.shape[1], dtype=a.dtype) for a, b in zip(As, Bs, strict=True)]
    ptrs = [torch.tensor([t.data_ptr() for t in ts]) for ts in (As, Bs, Cs)]
    sizes = torch.tensor(
        [[a.shape[0], b.shape[1], a.shape[1]] for a, b in zip(As, Bs, strict=True)], dtype=torch.int32
    )
    lds = torch.tensor(
        [[a.stride(0), b.stride(0), c.stride(0)] for a, b, c in zip(As, Bs, Cs, strict=True)],
        dtype=torch.int32,
    )
    grouped_matmul_kernel[(4,)](*ptrs, sizes, lds, len(As), NUM_SM=4, BM=32, BN=32, BK=16)
    return Cs


torch.manual_seed(0)
shapes = [(64, 64, 64), (48, 96, 40), (32, 64, 16)]
As = [torch.randn(m, k, dtype=torch.float16) for m, n, k in shapes]
Bs = [torch.randn(k, n, dtype=torch.float16) for m, n, k in shapes]
for i, (c, a, b) in enumerate(zip(group_gemm(As, Bs), As, Bs, strict=True)):
    assert torch.allclose(c, torch.matmul(a, b), atol=1e-2, rtol=1e-2), f"group {i} differs"
