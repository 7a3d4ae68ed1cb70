"""A persistent kernel whose step is one too long: some blocks of the result are never written, and the
program sums them up.

$ verify FILE

status  1

says  uninit at ttir: kernel 'double': y: 904 of 5,000 elements were never written, the first is 1024

says  they are read by item() at

says  verdict: wrong
$ run --device cpu --check uninit FILE

status  1

says  y: 904 of 5,000 elements were never written, the first is 1024; they are read by item() at
$ run --device cpu FILE

status  0

never  never written
"""

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0) + 1):
        at = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, 2 * tl.load(x + at, at < n), at < n)


torch.manual_seed(1)
y = torch.empty(5000)
double[(4,)](torch.randn(5000), y, 5000, BLOCK=256)
print(f"sum {float(y.sum()):.3f}")
