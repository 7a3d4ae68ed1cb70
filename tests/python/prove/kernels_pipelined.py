"""Has kernels whose loops the compiler pipelines: asynchronous copies, products of a warp group, TMA."""

import triton
import triton.language as tl


@triton.jit
def gram(a, sums, products, N, D: tl.constexpr):
    d = tl.arange(0, D)
    total, product = tl.zeros((D,), tl.float32), tl.zeros((D, D), tl.float32)
    for first in range(0, N, 64):
        block = tl.load(a + (first + tl.arange(0, 64))[:, None] * D + d[None, :])
        total += tl.sum(block.to(tl.float32), axis=0)
        product += tl.dot(tl.trans(block), block)
    tl.store(sums + d, total)
    tl.store(products + d[:, None] * D + d[None, :], product)


@triton.jit
def in_a_branch(index, out, n, keep):
    for i in tl.range(0, n, num_stages=2):
        at = tl.load(index + i + tl.arange(0, 1))
        if keep:
            tl.store(out + at, i + 1)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k, total = tl.arange(0, BK), tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + first + k[None, :])
        right = tl.load(b + (first + k)[:, None] * N + n[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * N + n[None, :], total)


@triton.jit
def of_boxes(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    out = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        total = tl.dot(left.load([m, k * BK]), right.load([n, k * BK]).T, total)
    out.store([m, n], total)


@triton.jit
def specialised(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    out = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(tl.cdiv(K, BK), warp_specialize=True):
        total = tl.dot(left.load([m, k * BK]), right.load([n, k * BK]).T, total)
    out.store([m, n], total)


@triton.jit
def copied(x, out, BLOCK: tl.constexpr):
    m, n = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    out.store([m, n], x.load([m, n]))
