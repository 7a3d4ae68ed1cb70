"""Several matrix products of different sizes in one launch, their pointers read from memory (tutorial 08)."""

import numpy as np
import triton.language as tl
import triton_runner


@triton_runner.jit
def grouped_matmul_kernel(
    a_ptrs, b_ptrs, c_ptrs, sizes_ptr, strides_ptr, problems,
    PROGRAMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    problem_end = 0
    for g in range(problems):
        m = tl.load(sizes_ptr + g * 3)
        n = tl.load(sizes_ptr + g * 3 + 1)
        k = tl.load(sizes_ptr + g * 3 + 2)
        blocks_n = tl.cdiv(n, BLOCK_N)
        tiles = tl.cdiv(m, BLOCK_M) * blocks_n
        lda = tl.load(strides_ptr + g * 3)
        ldb = tl.load(strides_ptr + g * 3 + 1)
        ldc = tl.load(strides_ptr + g * 3 + 2)
        a_ptr = tl.load(a_ptrs + g).to(tl.pointer_type(tl.float16))
        b_ptr = tl.load(b_ptrs + g).to(tl.pointer_type(tl.float16))
        c_ptr = tl.load(c_ptrs + g).to(tl.pointer_type(tl.float16))
        while tile >= problem_end and tile < problem_end + tiles:
            at = tile - problem_end
            rows = at // blocks_n * BLOCK_M + tl.arange(0, BLOCK_M)
            cols = at % blocks_n * BLOCK_N + tl.arange(0, BLOCK_N)
            ks = tl.arange(0, BLOCK_K)
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for start in range(0, k, BLOCK_K):
                a = tl.load(a_ptr + rows[:, None] * lda + start + ks[None, :])
                b = tl.load(b_ptr + (start + ks[:, None]) * ldb + cols[None, :])
                acc += tl.dot(a, b)
            tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(tl.float16))
            tile += PROGRAMS
        problem_end += tiles


def run(device, **level):
    shapes, programs = [(128, 64, 96), (64, 192, 32), (64, 64, 64), (192, 128, 64)], 5
    a = [device.normal(m, k, dtype="float16") for m, n, k in shapes]
    b = [device.normal(k, n, dtype="float16") for m, n, k in shapes]
    c = [device.zeros(m, n, dtype="float16") for m, n, k in shapes]
    pointers = [device.array(np.array([t.data_ptr() for t in tensors], np.int64)) for tensors in (a, b, c)]
    device.let_kernels_find(a + b + c)
    sizes = device.array(np.array(shapes, np.int32))
    strides = device.array(np.array([(k, n, n) for m, n, k in shapes], np.int32))
    grouped_matmul_kernel[(programs,)](
        *pointers,
        sizes,
        strides,
        len(shapes),
        PROGRAMS=programs,
        BLOCK_M=64,
        BLOCK_N=64,
        BLOCK_K=32,
        num_warps=4,
        **level,
    )
    return [(f"c{i}", c[i], device.host(a[i]) @ device.host(b[i]), 0.05) for i in range(len(shapes))]
