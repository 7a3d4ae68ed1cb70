"""Doubles 4.9 billion numbers, 18 GiB each of input and output (doc/guide/ghosts.md).

python examples/guide/huge.py
"""

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * 2, mask=mask)


x = torch.full((70_000, 70_000), 3.0, device="cuda")
out = torch.zeros_like(x)
n = x.numel()
double[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
print("the last of", n, "numbers:", out[-1, -2:].clone().tolist())
