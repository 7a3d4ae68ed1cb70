"""A gelu whose constant has one zero too few behind the point.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  gelu_of_another_constant.py:29: `0.044715` in place of `0.44715`
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    if WRONG:
        inner = 0.7978845608 * (x + 0.44715 * x * x * x)
    else:
        inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    e = tl.exp(2 * inner)
    t = 1 - 2 / (e + 1)
    tl.store(y_ptr + offs, 0.5 * x * (1 + t), mask=mask)


torch.manual_seed(1)
x = torch.randn(3000)
y = torch.empty_like(x)
gelu_kernel[(triton.cdiv(3000, 512),)](x, y, 3000, BLOCK=512)
torch.testing.assert_close(y, torch.nn.functional.gelu(x, approximate="tanh"), rtol=1e-4, atol=1e-5)
