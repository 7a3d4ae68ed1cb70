"""Tempts race, timing: a product in a warp-specialised loop on Blackwell; loads and products go on in
partitions."""

# verify: --target cuda:100
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    c.store([m, n], acc.to(tl.float16))


torch.manual_seed(0)
a, b = torch.randn(128, 256).half(), torch.randn(128, 256).half()
c = torch.zeros(128, 128, dtype=torch.float16)
da, db = (TensorDescriptor.from_tensor(t, [128, 64]) for t in (a, b))
matmul[(1, 1)](da, db, TensorDescriptor.from_tensor(c, [128, 128]), 256, BM=128, BN=128, BK=64, num_stages=3)
torch.testing.assert_close(c.float(), a.float() @ b.float().T, rtol=1e-2, atol=2e-2)
