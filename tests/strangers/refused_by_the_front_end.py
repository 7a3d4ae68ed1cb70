"""A kernel that the front end does not take, in a helper that it calls: the line is shown with a caret, and
no traceback of Triton.

    $ verify FILE
    status  1
    says  refused_by_the_front_end.py:23:12: error: the front end of Triton
    says  return x.transposed
    says  verdict: wrong
    never  Traceback
    $ run FILE
    status  1
    says  refused_by_the_front_end.py:23:12: error: the front end of Triton
    never  Traceback
"""

import torch
import triton
import triton.language as tl


@triton.jit
def turned(x):
    return x.transposed


@triton.jit
def copy(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, turned(tl.load(x + i)))


copy[(1,)](torch.ones(64), torch.zeros(64), 64)
