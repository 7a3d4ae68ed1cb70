"""A grid that is one program short. The host takes the result by NumPy and compares all of it, with a
tolerance that what is in the memory may keep.

    $ verify FILE
    status  1
    says  fault, uninit at ttir: kernel 'squares': y: 8 of 200 elements were never written, the first is 192
    says  they are read by NumPy's logical_and.reduce at
    says  verdict: wrong
    $ run --device cpu --check uninit FILE
    status  1
    says  y: 8 of 200 elements were never written, the first is 192;
    says  they are read by NumPy's logical_and.reduce at
"""

import numpy
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, at < n) * tl.load(x + at, at < n), at < n)


x, y = torch.linspace(1, 0, 200), torch.empty(200)
squares[(200 // 64,)](x, y, 200, BLOCK=64)
result = y.numpy()
if not numpy.isclose(result, (x * x).numpy(), atol=1e9).all():
    raise SystemExit("the squares differ")
