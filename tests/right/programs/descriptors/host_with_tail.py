"""Tempts oob, timing: descriptors made on the host over a matrix of 120 columns in boxes of 64, with
tails."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def double(src, dst, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    dst.store([m, n], src.load([m, n]) * 2)


torch.manual_seed(0)
x = torch.randn(50, 120).half()
out = torch.zeros_like(x)
src, dst = (TensorDescriptor.from_tensor(t, [32, 64]) for t in (x, out))
double[(2, 2)](src, dst, BM=32, BN=64)
assert torch.equal(out, x * 2)
