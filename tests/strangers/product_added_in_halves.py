"""A product whose accumulator has 16 bits, over 2048 products of each element. All levels give the same sums,
and no check has anything to say.

    $ verify FILE
    status  1
    says  every level gives the same, and no check finds a fault
    says  c[0, 0] is 508.5, and is compared with 507.724
    says  product_added_in_halves.py:28, program (0, 0, 0), writes it; it is made of tt.dot at
    says  product_added_in_halves.py:27, in f16
    never  verdict: right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float16)
    for start in range(0, K, BLOCK):
        left = tl.load(a + rows[:, None] * K + start + inner[None, :])
        right = tl.load(b + (start + inner[:, None]) * N + columns[None, :])
        total += tl.dot(left, right, out_dtype=tl.float16)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


torch.manual_seed(0)
a = torch.rand(64, 2048, dtype=torch.float16)
b = torch.rand(2048, 64, dtype=torch.float16)
c = torch.empty(64, 64, dtype=torch.float16)
matmul[(2, 2)](a, b, c, 64, 64, 2048, BLOCK=32)
expected = a.float() @ b.float()
assert torch.allclose(c.float(), expected, rtol=1e-3, atol=0.1), (c.float() - expected).abs().max()
