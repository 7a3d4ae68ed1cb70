"""Tempts uninit, oob, timing: descriptors that the kernel makes in scratch memory, in a pipelined product."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    dc = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([m, k]), db.load([n, k]).T, acc)
    dc.store([m, n], acc.to(tl.float16))


triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8))
torch.manual_seed(0)
M, N, K = 96, 72, 104
a, b = torch.randn(M, K).half(), torch.randn(N, K).half()
c = torch.zeros(M, N, dtype=torch.float16)
matmul[(2, 2)](a, b, c, M, N, K, BM=64, BN=64, BK=32, num_stages=3)
torch.testing.assert_close(c.float(), a.float() @ b.float().T, rtol=1e-2, atol=1e-2)
