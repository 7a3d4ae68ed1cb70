"""Tempts levels: products summed in f16 (out_dtype), where every step rounds, in whatever order."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c):
    i, j = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    x, y = tl.load(a + i * 32 + j), tl.load(b + i * 32 + j)
    tl.store(c + i * 32 + j, tl.dot(x, y, out_dtype=tl.float16))


torch.manual_seed(0)
a, b = torch.randn(2, 32, 32).half()
c = torch.empty(32, 32, dtype=torch.float16)
matmul[(1,)](a, b, c)
torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=3e-2)
