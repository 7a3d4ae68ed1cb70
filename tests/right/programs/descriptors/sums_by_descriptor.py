"""Tempts order, race: rows added up by a descriptor's atomic_add, of integers."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def add_all(src, dst, B: tl.constexpr):
    p = tl.program_id(0)
    dst.atomic_add([0, 0], src.load([p * B, 0]))


torch.manual_seed(0)
x = torch.randint(-9, 10, (64, 32), dtype=torch.int32)
out = torch.zeros(16, 32, dtype=torch.int32)
src, dst = (TensorDescriptor.from_tensor(t, [16, 32]) for t in (x, out))
add_all[(4,)](src, dst, B=16)
assert torch.equal(out, x.reshape(4, 16, 32).sum(0).int())
