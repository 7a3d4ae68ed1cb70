"""A root mean square norm that takes an epsilon and forgets to add it.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  norm_without_its_epsilon.py:29 or 31: `ms + eps` in place of `ms`
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def rms_kernel(x_ptr, w_ptr, y_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0)
    ms = tl.sum(x * x, axis=0) / n
    if WRONG:
        r = tl.rsqrt(ms)
    else:
        r = tl.rsqrt(ms + eps)
    w = tl.load(w_ptr + cols, mask=mask)
    tl.store(y_ptr + row * stride + cols, x * r * w, mask=mask)


def rms(x, w, eps):
    y = torch.empty_like(x)
    rms_kernel[(x.shape[0],)](x, w, y, x.stride(0), x.shape[1], eps, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


torch.manual_seed(2)
x = torch.randn(16, 300) * 0.05
w = torch.rand(300)
expected = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3) * w
assert torch.allclose(rms(x, w, 1e-3), expected, atol=1e-5)
