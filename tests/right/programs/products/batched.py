"""Tempts levels: a product of three-dimensional tiles."""

import torch
import triton
import triton.language as tl


@triton.jit
def bmm(a, b, c, Z: tl.constexpr, S: tl.constexpr):
    z = tl.arange(0, Z)[:, None, None]
    at = z * S * S + tl.arange(0, S)[None, :, None] * S + tl.arange(0, S)[None, None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


torch.manual_seed(0)
a, b = torch.randn(4, 16, 16).half(), torch.randn(4, 16, 16).half()
c = torch.empty(4, 16, 16)
bmm[(1,)](a, b, c, Z=4, S=16)
torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-3, atol=1e-3)
