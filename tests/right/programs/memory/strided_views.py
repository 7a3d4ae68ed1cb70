"""Tempts oob: a transposed slice in the middle of a larger tensor; strides, not shapes, say where elements
are."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy(src, dst, M, N, s0, s1, d0, d1, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inside = (m < M) & (n < N)
    tl.store(dst + m * d0 + n * d1, tl.load(src + m * s0 + n * s1, mask=inside), mask=inside)


torch.manual_seed(0)
big = torch.randn(40, 50)
src = big[3:30:2, 5:44].T
dst = torch.full((50, 20), -1.0)
view = dst[4:43, 2:16]
grid = (triton.cdiv(39, 16), triton.cdiv(14, 16))
copy[grid](src, view, 39, 14, *src.stride(), *view.stride(), BM=16, BN=16)
assert torch.equal(view, src)
assert (dst == -1).sum() == 50 * 20 - 39 * 14
