"""pytorch#198270: the copy back into x is fused with a read of x at other places."""

import torch


def update(x):
    x.index_put_((torch.arange(x.size(0), device=x.device),), x * 2.0)
    x.add_(x.flip(0))
    return x


torch.compile(update)(torch.rand(64, 256, device="cuda"))
