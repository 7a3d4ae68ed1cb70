"""Tempts oob: 119 columns in rows of 128: the row is 238 bytes long, and TMA writes whole chunks of 16
bytes, which end in the row's slack."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy(src, dst, B: tl.constexpr):
    row, col = tl.program_id(0) * B, tl.program_id(1) * B
    dst.store([row, col], src.load([row, col]))


torch.manual_seed(0)
x = torch.randn(40, 128).bfloat16()
out = torch.zeros_like(x)
src = TensorDescriptor(x, [40, 119], [128, 1], [32, 32])
dst = TensorDescriptor(out, [40, 119], [128, 1], [32, 32])
copy[(2, 4)](src, dst, B=32)
assert torch.equal(out[:, :119], x[:, :119])
