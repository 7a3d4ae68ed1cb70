"""pytorch#198119: the gradient of avg_pool1d with ceil_mode."""

import torch
import torch.nn.functional as F


def pooled(x):
    return F.avg_pool1d(x, 3, 3, ceil_mode=True)


x = torch.rand(1, 1, 5, device="cuda", requires_grad=True)
torch.compile(pooled)(x).sum().backward()
