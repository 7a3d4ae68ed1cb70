"""A Huber loss whose line far out does not meet its parabola.

$ verify FILE right
status  0
says  verdict: right
never  hint:
$ verify FILE wrong
status  1
says  no fault found
says  loss_without_its_offset.py:30: `d - 0.35` in place of `d`
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def huber_kernel(x_ptr, t_ptr, loss_ptr, delta, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    d = tl.abs(tl.load(x_ptr + offs, mask=mask) - tl.load(t_ptr + offs, mask=mask))
    near = 0.5 * d * d
    if WRONG:
        far = delta * d
    else:
        far = delta * (d - 0.5 * delta)
    tl.store(loss_ptr + offs, tl.where(d < delta, near, far), mask=mask)


torch.manual_seed(11)
x, t = torch.randn(1000), torch.randn(1000)
loss = torch.empty(1000)
huber_kernel[(4,)](x, t, loss, 0.7, 1000, BLOCK=256)
expected = torch.nn.functional.huber_loss(x, t, reduction="none", delta=0.7)
torch.testing.assert_close(loss, expected)
