"""A program as people write them for a GPU: plain @triton.jit, device="cuda". Without a GPU:

triton-runner run --device cpu --pretend-cuda examples/cuda/vector_add.py
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


x, y = torch.rand(98432, device="cuda"), torch.rand(98432, device="cuda")
out = torch.empty_like(x)
add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
matches = torch.equal(out, x + y)
print(f"{out.device}: " + ("✅ Triton and Torch match" if matches else "❌ Triton and Torch differ"))
sys.exit(not matches)
