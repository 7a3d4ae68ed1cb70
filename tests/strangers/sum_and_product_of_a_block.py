"""triton#6691: a pipelined block is summed and multiplied with its own transpose. The compiler gives the
product a buffer in which the next copy lands too early; the program is right, and its Triton is not.

$ run --device cpu --target cuda:90 --level ttgir --check race FILE
status  1
says  data race
$ run --device cpu --level ttir --check race FILE
status  0
says  right
"""

import torch
import triton
import triton.language as tl


@triton.jit
def gram(a, sums, products, N, D: tl.constexpr):
    d = tl.arange(0, D)
    total, product = tl.zeros((D,), tl.float32), tl.zeros((D, D), tl.float32)
    for first in range(0, N, 64):
        block = tl.load(a + (first + tl.arange(0, 64))[:, None] * D + d[None, :])
        total += tl.sum(block.to(tl.float32), axis=0)
        product += tl.dot(tl.trans(block), block)
    tl.store(sums + d, total)
    tl.store(products + d[:, None] * D + d[None, :], product)


torch.manual_seed(0)
a = torch.randint(-3, 4, (320, 64)).half()
sums, products = torch.zeros(64), torch.zeros(64, 64)
gram[(1,)](a, sums, products, 320, 64, num_stages=3)
assert torch.equal(sums, a.float().sum(0)) and torch.equal(products, a.float().T @ a.float())
print("right")
