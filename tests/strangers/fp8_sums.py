"""A product of fp8 whose sums the tensor cores of sm_89 keep in 14 bits (triton#5065): no level is at fault,
and the result is 1 % off.

    $ verify --target cuda:89 FILE
    status  0
    says  the target's tensor cores sum fp8 in fewer bits: 'c' is off by up to 1.5 % of its largest element
    says  max_num_imprecise_acc
    never  verdict: wrong
    $ verify --target cuda:80 FILE
    status  0
    never  sum fp8 in fewer bits
"""

import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, K: tl.constexpr):
    i, k = tl.arange(0, 16), tl.arange(0, K)
    acc = tl.dot(tl.load(a + i[:, None] * K + k[None, :]), tl.load(b + i[None, :] * K + k[:, None]))
    tl.store(c + i[:, None] * 16 + i[None, :], acc)


a, b = torch.full((16, 256), 1 / 32), torch.full((16, 256), 3.0)
a[:, 0], b[:, 0] = 16, 32
c = torch.zeros(16, 16)
product[(1,)](a.to(torch.float8_e5m2), b.to(torch.float8_e5m2), c, 256, num_warps=1)
assert torch.allclose(c, a @ b.T, rtol=0.05)
