"""A number for a parameter that is annotated as bfloat16 (triton#6176): Triton's launcher passes the upper
half of its f32, cut off and not rounded. The program expects what a GPU gets.

    $ verify FILE
    status  0
    never  verdict: wrong
    $ run --device cpu --level ttgir FILE
    status  0
    $ run --device cpu --level ptx FILE
    status  0
"""

import numpy
import torch
import triton
import triton.language as tl


@triton.jit
def fill(out, number: tl.bfloat16, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), number.to(tl.float32) * tl.full((N,), 1, tl.float32))


for number in (0.7, -1.9, 3.14159, 1e-3):
    out = torch.zeros(32)
    fill[(1,)](out, number, N=32)
    cut = (numpy.float32(number).view(numpy.uint32) & 0xFFFF0000).view(numpy.float32)
    torch.testing.assert_close(out, torch.full((32,), float(cut)), rtol=0, atol=0)
