"""Tempts race, levels: a sum of products in f16 over one warp. Contraction makes the lanes that hold the
sum differ in their last bit (triton#7264), and either of the values is a rounding of the sum."""

import torch
import triton
import triton.language as tl


@triton.jit
def dots(a, b, out, N: tl.constexpr):
    row = tl.program_id(0)
    at = row * N + tl.arange(0, N)
    total = tl.sum(tl.load(a + at) * tl.load(b + at), axis=0)
    tl.store(out + row, total)


torch.manual_seed(0)
a, b = torch.randn(32, 128).half(), torch.randn(32, 128).half()
out = torch.empty(32, dtype=torch.float16)
dots[(32,)](a, b, out, N=128)
torch.testing.assert_close(out.float(), (a.float() * b.float()).sum(1), rtol=2e-2, atol=0.1)
