"""A layer whose gradient torch.compile computes wrongly, in torch 2.13 and 2.14 (pytorch#198119): the last
window of a pool with ceil_mode covers two elements, and Inductor divides by three
(doc/guide/torch-bisect.md).

triton-runner bisect --torch --pretend-cuda examples/compile/pooled.py
"""

import torch
import torch.nn.functional as F


def pooled(x):
    y = x.sin()
    return F.avg_pool1d(y, 3, 3, ceil_mode=True)


x = torch.linspace(0, 1, 5, device="cuda").reshape(1, 1, 5).requires_grad_()
torch.compile(pooled)(x).sum().backward()
