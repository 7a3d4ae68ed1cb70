"""A product split along K: float atomics add the parts up, so that the last bits depend on the order of
the programs.

$ verify FILE
status  0
says  nondeterministic
never  fault
"""

import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, N: tl.constexpr, K: tl.constexpr, PART: tl.constexpr):
    i, k = tl.arange(0, N), tl.program_id(0) * PART + tl.arange(0, PART)
    x = tl.load(a + i[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + i[None, :])
    tl.atomic_add(c + i[:, None] * N + i[None, :], tl.dot(x, y, input_precision="ieee"))


torch.manual_seed(4)
a, b, c = torch.randn(16, 128), torch.randn(128, 16), torch.zeros(16, 16)
product[(4,)](a, b, c, N=16, K=128, PART=32)
torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-4)
